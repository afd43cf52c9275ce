package io.tamis.formats.iceberg

import io.tamis.formats.{FormatFailure, Members}
import io.tamis.planning.FileSelection
import io.tamis.scan.FilesScan
import java.util

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.partitioning.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.types.StructType

/** Iceberg's own scan, confined to some files.
  *
  * The tasks of Iceberg's scan are replaced by those of the kept files, as its own run-time filters
  * do (`resetTasks` of SparkPartitioningAwareScan). Everything else is Iceberg's.
  *
  * @param make
  *   makes Iceberg's scan of all files
  */
private[iceberg] final class IcebergScan(
    name: String,
    files: IcebergFiles,
    kept: FileSelection,
    make: () => Scan,
    atRunTime: Option[IcebergScan.AtRunTime] = None
) extends FilesScan {
  private lazy val ofIceberg: Scan = make()

  private lazy val confined: Scan = {
    atRunTime match {
      case None    => plan()
      case Some(d) =>
        IcebergScan.reset(ofIceberg, d.planned)
        // Iceberg groups the partitions of a join by what all its tasks have in common: fixed first
        partitioningOf(ofIceberg)
        if (d.left.count < kept.count) confine(d.left)
        ofIceberg match {
          case filtered: SupportsRuntimeV2Filtering if d.predicates.nonEmpty =>
            // it only leaves out files
            FormatFailure.kept(())(filtered.filter(d.predicates.toArray))
          case _ =>
        }
    }
    ofIceberg
  }

  /** Plans the manifests that list kept files, or the whole snapshot. */
  private def plan(): Unit = {
    FormatFailure.kept(())(if (!kept.isAll) planManifests())
    confine(kept)
  }

  private def planManifests(): Unit = {
    val part = files.part(kept)
    SomeManifests.tasks(Members.call(ofIceberg, "scan"), part.manifests).foreach { tasks =>
      IcebergScan.reset(ofIceberg, tasks)
      ordinals = Some(part.ordinals)
    }
  }

  /** Those of the files of the manifests that were planned; None: of all files. */
  private var ordinals: Option[IcebergFiles.Ordinals] = None

  private def confine(to: FileSelection): Unit = {
    val before = tasks
    val surviving = before.filter(task => to.contains(ordinalOf(task)))
    if (surviving.size < before.size) IcebergScan.reset(ofIceberg, surviving)
  }

  private def tasks: Seq[AnyRef] = IcebergScan.tasks(ofIceberg)
  private def locationOf(task: AnyRef): String = IcebergScan.location(IcebergScan.fileOf(task))

  /** Filters that were proven for all files of the listing have left the plan. */
  private def ordinalOf(task: AnyRef): Int = {
    val (location, known) = (locationOf(task), ordinals.getOrElse(files.ordinals))
    if (!known.containsKey(location))
      throw new IllegalStateException(
        s"Iceberg reads $location of $name, which is not among the files of its " +
          "manifests. Run the query again with spark.tamis.enabled=false, and report this error"
      )
    known.get(location)
  }

  private lazy val batch = confined.toBatch

  override def readSchema: StructType = ofIceberg.readSchema()
  override def columnarSupportMode: Scan.ColumnarSupportMode = ofIceberg.columnarSupportMode()
  override def partitions: Array[InputPartition] = batch.planInputPartitions()
  override lazy val readers: PartitionReaderFactory = batch.createReaderFactory()
  override def metadata: Map[String, String] = Map("Format" -> "iceberg")
  override def filesRead: Option[Int] = Some(tasks.map(locationOf).distinct.size)

  override def partitioning: Partitioning = partitioningOf(confined)

  private def partitioningOf(scan: Scan): Partitioning = scan match {
    case reporting: SupportsReportPartitioning => reporting.outputPartitioning()
    case _                                     => new UnknownPartitioning(0)
  }

  override lazy val statistics: Option[Statistics] =
    Some(confined).collect { case reporting: SupportsReportStatistics =>
      reporting.estimateStatistics()
    }

  override def filterAttributes: Seq[NamedReference] = ofIceberg match {
    case filtered: SupportsRuntimeV2Filtering => filtered.filterAttributes().toSeq
    case _                                    => Nil
  }

  /** A new scan of Iceberg's, because several threads may filter one at once. It takes the tasks
    * that are planned already.
    */
  override def filtered(left: FileSelection, predicates: Seq[V2Predicate]): FilesScan = {
    val names = filterAttributes.map(_.describe).toSet
    val own = predicates.filter { p =>
      val columns = p.references.map(_.describe)
      columns.nonEmpty && columns.forall(names)
    }
    confined
    new IcebergScan(name, files, kept, make, Some(IcebergScan.AtRunTime(left, own, tasks)))
  }

  override def equals(other: Any): Boolean = other match {
    case that: IcebergScan => kept == that.selected && ofIceberg == that.plain
    case _                 => false
  }
  private def plain: Scan = ofIceberg
  private def selected: FileSelection = kept
  override def hashCode(): Int = kept.hashCode()
}

private[iceberg] object IcebergScan {

  /** What is known when the query runs.
    *
    * @param left
    *   the files that tamis keeps
    * @param predicates
    *   what Iceberg gets
    * @param planned
    *   the tasks of the kept files
    */
  final case class AtRunTime(
      left: FileSelection,
      predicates: Seq[V2Predicate],
      planned: Seq[AnyRef]
  )

  private val OfSpark = "org.apache.iceberg.spark.source.SparkBatchQueryScan"
  private val Tasks = "tasks"
  private val Reset = "resetTasks"

  /** The tasks of Iceberg's scan, one per file. */
  def tasks(scan: Scan): Seq[AnyRef] =
    Members.get[util.List[AnyRef]](scan, Tasks).asScala.toSeq

  def reset(scan: Scan, to: Seq[AnyRef]): Unit =
    Members.call(scan, Reset, new util.ArrayList(to.asJava)): Unit

  def fileOf(task: AnyRef): AnyRef = Members.call(task, "file")
  def location(file: AnyRef): String = Members.get[String](file, "location")

  /** Whether this release of Iceberg has the members by which a scan is confined. */
  def isKnown(loader: ClassLoader): Boolean = Try {
    val scan = Class.forName(OfSpark, false, loader)
    Members.has(scan, Tasks, 0) && Members.has(scan, Reset, 1)
  }.getOrElse(false)
}
