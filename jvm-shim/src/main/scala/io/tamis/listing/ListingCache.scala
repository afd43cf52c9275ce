package io.tamis.listing

import java.lang.ref.{ReferenceQueue, WeakReference}
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.types.StructType

/** Caches listings by the map in which Spark's file index holds its files.
  *
  * InMemoryFileIndex creates a new map at every refresh, so the identity of the map is the identity
  * of the listing: a refreshed index is listed again, and an unchanged one costs one lookup.
  */
object ListingCache {

  private final class Key(map: AnyRef, queue: ReferenceQueue[AnyRef])
      extends WeakReference[AnyRef](map, queue) {
    override val hashCode: Int = System.identityHashCode(map)
    override def equals(other: Any): Boolean = other match {
      case k: Key => (this eq k) || (get != null && (get eq k.get))
      case _      => false
    }
  }

  private val collected = new ReferenceQueue[AnyRef]
  private val listings = new ConcurrentHashMap[Key, Listing]

  /** The listing of an index.
    *
    * @param meanwhile
    *   called with the number of files before they are listed, unless the listing is known
    */
  def of(index: PartitioningAwareFileIndex, partitionSchema: StructType)(
      meanwhile: Int => Unit = _ => ()
  ): Listing = {
    drain()
    leafFiles(index) match {
      case None      => Listing.of(index.listFiles(Nil, Nil), partitionSchema)
      case Some(map) =>
        val key = new Key(map, collected)
        val known = listings.get(key)
        // the values of a listing follow the partition schema it was made for
        if (known != null && known.partitionSchema == partitionSchema) known
        else {
          meanwhile(map.size)
          val listing = Listing.of(index.listFiles(Nil, Nil), partitionSchema)
          // after a refresh between the two calls, the listing may belong to either map, so it is
          // not remembered
          if (leafFiles(index).exists(_ eq map)) listings.put(key, listing)
          listing
        }
    }
  }

  private def drain(): Unit = {
    var key = collected.poll()
    while (key != null) { listings.remove(key); key = collected.poll() }
  }

  /** The map of a file index. `leafFiles` is protected in Scala and public in the class file (4.0
    * to 4.3). None: list every time.
    */
  private def leafFiles(index: PartitioningAwareFileIndex): Option[collection.Map[_, _]] =
    try Option(method.invoke(index).asInstanceOf[collection.Map[_, _]])
    catch { case NonFatal(_) => None }

  private lazy val method = classOf[PartitioningAwareFileIndex].getMethod("leafFiles")
}
