package io.tamis.formats.delta

import io.tamis.formats.Members
import java.lang.ref.SoftReference
import java.util

import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** All files of a snapshot, as Delta lists them for a query without filters.
  *
  * @param scan
  *   Delta's scan of these files
  */
private[delta] final class SnapshotFiles(val scan: AnyRef) {
  val addFiles: Seq[AnyRef] = DeltaListing.distinct(Members.get[Seq[AnyRef]](scan, "files"))

  @volatile private var last: Option[(SnapshotFiles.Reading, DeltaListing.Listed)] = None

  /** The listing, with partition values as the session reads them. */
  def listed(relation: HadoopFsRelation): DeltaListing.Listed = {
    val reading = SnapshotFiles.Reading(
      relation.partitionSchema,
      SQLConf.get.sessionLocalTimeZone
    )
    last.collect { case (`reading`, listed) => listed }.getOrElse {
      val listed = new DeltaListing(relation).listed(addFiles)
      last = Some(reading -> listed)
      listed
    }
  }
}

/** Keeps the files of snapshots in memory, as long as Delta keeps the snapshot and there is room.
  *
  * Listing all files costs about as much as Delta's data skipping for one query. So the files of a
  * large table are listed for the second query of a snapshot.
  */
private[delta] object SnapshotFiles {

  private final case class Reading(partitions: StructType, timeZone: String)

  private final class Entry {
    @volatile var files: SoftReference[SnapshotFiles] = new SoftReference(null)
    @volatile var isAsked: Boolean = false
  }

  /** Delta has one object for a snapshot as long as it is the newest one. */
  private val entries = new util.WeakHashMap[AnyRef, Entry]

  /** Tables with fewer files are listed for their first query. */
  private val Few = 1000L

  /** The driver does not keep the files of larger tables. */
  private val Most = 1000000L

  /** The files of a snapshot; None: Delta had better choose them.
    *
    * @param isWhole
    *   whether the query reads all files, so that Delta would list all of them
    * @param list
    *   Delta's scan of all files
    */
  def of(snapshot: AnyRef, isWhole: Boolean)(list: => AnyRef): Option[SnapshotFiles] = {
    val entry = entries.synchronized(entries.computeIfAbsent(snapshot, _ => new Entry))
    Option(entry.files.get).orElse {
      val count = Members.get[Option[Long]](snapshot, "numOfFilesIfKnown")
      val pays = isWhole || entry.isAsked || count.exists(_ < Few)
      entry.isAsked = true
      Option.when(pays && count.forall(_ <= Most)) {
        val files = new SnapshotFiles(list)
        entry.files = new SoftReference(files)
        files
      }
    }
  }
}
