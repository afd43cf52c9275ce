package io.tamis.listing

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.execution.datasources.{FileStatusWithMetadata, PartitionDirectory}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform

/** One directory with one tuple of partition values.
  *
  * @param directory
  *   URL-encoded absolute URI without a trailing slash
  * @param values
  *   partition values in the order of the partition schema
  */
final case class ListingGroup(directory: String, values: InternalRow)

/** Spark's listing of a relation, unchanged, with an ordinal for every file.
  *
  * An answer of the planner refers to files only by these ordinals.
  *
  * @param changed
  *   ordinals of files that are no longer as Spark listed them
  */
final class Listing(
    val directories: Seq[PartitionDirectory],
    val partitionSchema: StructType,
    val groups: Array[ListingGroup],
    val files: Array[FileStatusWithMetadata],
    val groupOf: Array[Int],
    val changed: Set[Int] = Set.empty
) {
  def size: Int = files.length

  /** The same files, some of which were overwritten or deleted since. */
  private[tamis] def knowing(changed: Set[Int]): Listing =
    new Listing(directories, partitionSchema, groups, files, groupOf, changed)
  private[tamis] lazy val watch = new StaleFileCheck.Watch(this)

  /** Size in bytes and modification time in milliseconds since 1970 that the statistics of a file
    * must match; -1 for a changed file, which no statistics match.
    */
  def sizeOf(i: Int): Long = if (changed(i)) -1 else files(i).getLen
  def modified(i: Int): Long = if (changed(i)) -1 else files(i).getModificationTime

  lazy val totalBytes: Long = { var sum = 0L; files.foreach(f => sum += f.getLen); sum }

  /** Hash of every directory, partition value, file name, size and modification time, in order. */
  lazy val fingerprint: String = {
    val a = new Listing.Hash(Listing.SeedA)
    val b = new Listing.Hash(Listing.SeedB)
    Seq(a, b).foreach(_.add(partitionSchema.json)) // the same text is another value in another type
    groups.foreach { g =>
      val values = g.values
        .toSeq(partitionSchema)
        .map(v => if (v == null) "\u0000" else v.toString + "\u0001")
        .mkString
      Seq(a, b).foreach { h => h.add(g.directory); h.add(values) }
    }
    var i = 0
    while (i < files.length) {
      val name = Listing.nameOf(files(i))
      a.add(name); b.add(name)
      a.add(sizeOf(i), modified(i), groupOf(i))
      b.add(sizeOf(i), modified(i), groupOf(i))
      i += 1
    }
    f"${a.value}%016x${b.value}%016x"
  }
}

object Listing {
  private val SeedA = 0x74616d6973L
  private val SeedB = 0x7369657665L

  private final class Hash(seed: Long) {
    private var state = seed
    def value: Long = state
    def add(text: String): Unit = {
      val bytes = text.getBytes(java.nio.charset.StandardCharsets.UTF_8)
      state = XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, bytes.length, state)
    }
    def add(size: Long, time: Long, group: Int): Unit =
      state = XXH64.hashLong(group.toLong, XXH64.hashLong(time, XXH64.hashLong(size, state)))
  }

  /** URL-encoded URI of a file; java.net.URI caches the string, so repeated calls cost nothing. */
  def uriOf(file: FileStatusWithMetadata): String = file.getPath.toUri.toString

  /** One spelling of a URI: `file:///t`, as in the catalog, and `file:/t/`, as in Hadoop, become
    * `file:/t`.
    */
  def canonical(uri: String): String =
    uri.replaceFirst("^([A-Za-z][A-Za-z0-9+.-]*):///", "$1:/").stripSuffix("/")

  def nameOf(file: FileStatusWithMetadata): String = {
    val uri = uriOf(file); uri.substring(uri.lastIndexOf('/') + 1)
  }

  val empty: Listing = new Listing(Nil, new StructType(), Array.empty, Array.empty, Array.empty)

  def of(directories: Seq[PartitionDirectory], partitionSchema: StructType): Listing = {
    val groups = mutable.ArrayBuffer.empty[ListingGroup]
    val files = Array.newBuilder[FileStatusWithMetadata]
    val groupOf = Array.newBuilder[Int]
    directories.foreach { partition =>
      val seen =
        mutable.HashMap.empty[String, Int] // a partition may hold files of several directories
      var last = ""
      var lastGroup = -1
      partition.files.foreach { file =>
        val uri = uriOf(file)
        val slash = uri.lastIndexOf('/')
        if (lastGroup < 0 || last.length != slash || !uri.startsWith(last)) {
          last = uri.substring(0, slash)
          lastGroup = seen.getOrElseUpdate(
            last,
            { groups += ListingGroup(canonical(last), partition.values); groups.length - 1 }
          )
        }
        files += file
        groupOf += lastGroup
      }
    }
    new Listing(directories, partitionSchema, groups.toArray, files.result(), groupOf.result())
  }
}
