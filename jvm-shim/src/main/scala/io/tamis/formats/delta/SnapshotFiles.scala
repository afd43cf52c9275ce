package io.tamis.formats.delta

import io.tamis.formats.Members
import io.tamis.wire.DeltaSnapshot
import java.lang.ref.SoftReference
import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionSet}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** All files of a snapshot, as Delta lists them for a query without filters. Does not refer to the
  * snapshot, which Delta drops when there is a newer one.
  *
  * @param whole
  *   Delta's scan of these files
  */
private[delta] final class SnapshotFiles(whole: AnyRef) {
  val addFiles: Seq[AnyRef] = DeltaListing.distinct(Members.get[Seq[AnyRef]](whole, "files"))
  private val scanClass = whole.getClass
  private val version = Members.call(whole, "version")
  private val skippingType = Members.call(whole, "dataSkippingType")
  private val sizeClass = Members.call(whole, "total").getClass
  private val total = size(addFiles)

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

  /** Delta's scan of all files. */
  def scan(snapshot: AnyRef): AnyRef = scanOf(snapshot, addFiles, total, Nil, Nil, Nil)

  /** Delta's scan of some of the files. If Spark asks for the files of other filters than these,
    * Delta chooses again.
    */
  def scan(
      snapshot: AnyRef,
      kept: Seq[AnyRef],
      ofPartitions: Seq[Expression],
      ofData: Seq[Expression],
      unused: Seq[Expression]
  ): AnyRef = scanOf(snapshot, kept, size(kept), ofPartitions, ofData, unused)

  private def scanOf(
      snapshot: AnyRef,
      kept: Seq[AnyRef],
      ofKept: AnyRef,
      ofPartitions: Seq[Expression],
      ofData: Seq[Expression],
      unused: Seq[Expression]
  ): AnyRef = Members.make(
    scanClass,
    version,
    kept,
    total,
    ofKept,
    ofKept,
    snapshot,
    ExpressionSet(ofPartitions),
    ExpressionSet(ofData),
    ExpressionSet(Nil),
    Set.empty[Expression],
    ExpressionSet(unused),
    Long.box(0),
    skippingType
  )

  private def size(of: Seq[AnyRef]): AnyRef = {
    val bytes = of.iterator.map(Members.get[Long](_, "size")).sum
    Members.make(sizeClass, Some(bytes), None, Some(of.size.toLong), None)
  }
}

/** Keeps the files of the snapshots that were read last in memory, as long as there is room.
  *
  * Listing all files costs about as much as Delta's data skipping for one query. So the files of a
  * large table are listed for the second query of a snapshot.
  */
private[delta] object SnapshotFiles {

  /** @param count
    *   the number of its files, if Delta knows it
    */
  final case class Version(snapshot: DeltaSnapshot, count: Option[Long])

  private final case class Reading(partitions: StructType, timeZone: String)

  private final class Entry {
    @volatile var files: SoftReference[SnapshotFiles] = new SoftReference(null)
    @volatile var isAsked: Boolean = false
  }

  /** Tables with fewer files are listed for their first query. */
  private val Few = 1000L

  /** Bytes of the heap for a file: Delta's entry, and that of the listing. 774 were measured for a
    * short path without partition values. Delta lists all files without their statistics.
    */
  private val BytesOfFile = 1000L

  /** Most files in memory, of all snapshots: a quarter of the heap. */
  val Most: Long = Runtime.getRuntime.maxMemory / 4 / BytesOfFile

  private val MostSnapshots = 64

  /** By the state of the log, not by Delta's object, which would stay in memory. The last one that
    * was used is the last one here.
    */
  private val entries = new util.LinkedHashMap[DeltaSnapshot, Entry](16, 0.75f, true) {
    override def removeEldestEntry(eldest: util.Map.Entry[DeltaSnapshot, Entry]): Boolean =
      size > MostSnapshots
  }

  /** The files of a snapshot; None: Delta had better choose them.
    *
    * @param isWhole
    *   whether the query reads all files, so that Delta would list all of them
    * @param list
    *   Delta's scan of all files
    */
  def of(version: Version, isWhole: Boolean)(list: => AnyRef): Option[SnapshotFiles] = {
    val entry =
      entries.synchronized(entries.computeIfAbsent(version.snapshot, _ => new Entry))
    val count = version.count
    Option(entry.files.get).orElse {
      val pays = isWhole || entry.isAsked || count.exists(_ < Few)
      entry.isAsked = true
      Option.when(pays && count.forall(_ <= Most)) {
        val files = new SnapshotFiles(list)
        entry.files = new SoftReference(files)
        makeRoom(files)
        files
      }
    }
  }

  /** The listing of these entries, if they are all files of a snapshot that is in memory. */
  def listed(addFiles: Seq[AnyRef], relation: HadoopFsRelation): Option[DeltaListing.Listed] =
    kept.find(_.addFiles eq addFiles).map(_.listed(relation))

  private def kept: Seq[SnapshotFiles] =
    entries.synchronized(entries.values.asScala.flatMap(e => Option(e.files.get)).toSeq)

  /** Drops what was used the longest time ago. */
  private def makeRoom(newest: SnapshotFiles): Unit = entries.synchronized {
    var room = Most - newest.addFiles.size
    entries.values.asScala.toSeq.reverse.foreach { entry =>
      Option(entry.files.get).filterNot(_ eq newest).foreach { older =>
        if (older.addFiles.size <= room) room -= older.addFiles.size
        else entry.files = new SoftReference(null)
      }
    }
  }
}
