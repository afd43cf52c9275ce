package io.tamis.formats.iceberg

import io.tamis.formats.{FormatFailure, Members}
import io.tamis.planning.FileSelection
import io.tamis.scan.FilesScan

import org.apache.spark.sql.connector.expressions.{NamedReference, SortOrder}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.partitioning.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.types.StructType

/** Iceberg's own scan, confined to some files.
  *
  * The tasks of Iceberg's scan are replaced by those of the kept files. Everything else is
  * Iceberg's.
  *
  * @param lacksFilters
  *   whether filters were proven for the rows that are kept, and have left the plan
  * @param make
  *   makes Iceberg's scan of all files
  */
private[iceberg] final class IcebergScan(
    name: String,
    files: IcebergFiles,
    kept: FileSelection,
    lacksFilters: Boolean,
    make: () => Scan,
    atRunTime: Option[IcebergScan.AtRunTime] = None
) extends FilesScan {
  private lazy val ofIceberg: Scan = make()
  private lazy val tasks = new IcebergTasks(ofIceberg)

  private lazy val confined: Scan = {
    atRunTime match {
      case None    => plan()
      case Some(d) =>
        tasks.reset(d.planned)
        // Iceberg groups the partitions of a join by what all its tasks have in common: fixed first
        partitioningOf(ofIceberg)
        if (d.left != kept) confine(d.left, files.ordinals)
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
    val some =
      if (kept.isAll && files.isWhole) None
      else FormatFailure.kept(Option.empty[IcebergFiles.Ordinals])(planManifests())
    confine(kept, some.getOrElse(files.ordinals))
  }

  /** Returns the ordinals of the files whose tasks were planned; None: those of all files were. */
  private def planManifests(): Option[IcebergFiles.Ordinals] = {
    val part = files.part(kept)
    SomeManifests.tasks(Members.call(ofIceberg, "scan"), part.manifests).map { some =>
      tasks.reset(some)
      part.ordinals
    }
  }

  private def confine(to: FileSelection, known: IcebergFiles.Ordinals): Unit =
    tasks.choose { task =>
      val location = tasks.locationOf(task)
      // The file lies in a manifest that cannot hold a matching row, and which Iceberg opens only
      // because it plans the whole snapshot: every row of it fails a filter. Proven filters hold for
      // the listed files alone, so it must not be read: also not if a listed manifest has the same
      // file, with other partition values.
      if (files.rulesOut(IcebergTasks.fileOf(task))) None
      else Some(ordinalOf(location, known)).filter(to.contains(_)).map(partOf(task, to, _))
    }

  /** The task, confined to the row groups that are kept of its file. */
  private def partOf(task: AnyRef, to: FileSelection, ordinal: Int): AnyRef =
    to.ranges.of(ordinal, IcebergScan.EachRowGroup).fold(task) { ranges =>
      PartOfFile.of(Altered.original(task), ranges).getOrElse {
        if (lacksFilters) throw unexpected(tasks.locationOf(task), "in an unknown way")
        else task // the filters remove the rows of the other row groups
      }
    }

  /** Filters that were proven for all files of the listing have left the plan. */
  private def ordinalOf(location: String, known: IcebergFiles.Ordinals): Int = {
    if (!known.containsKey(location))
      throw unexpected(location, "which is not among the files of its manifests")
    known.get(location)
  }

  private def unexpected(location: String, how: String) = new IllegalStateException(
    s"Iceberg reads $location of $name, $how. Run the query again with " +
      "spark.tamis.enabled=false, and report this error"
  )

  private lazy val batch = confined.toBatch

  override def readSchema: StructType = ofIceberg.readSchema()
  override def columnarSupportMode: Scan.ColumnarSupportMode = ofIceberg.columnarSupportMode()
  override def partitions: Array[InputPartition] = batch.planInputPartitions()
  override lazy val readers: PartitionReaderFactory = batch.createReaderFactory()
  override def metadata: Map[String, String] = Map("Format" -> "iceberg")
  override def filesRead: Option[Int] = Some(tasks.locations.size)

  override def partitioning: Partitioning = partitioningOf(confined)

  private def partitioningOf(scan: Scan): Partitioning = scan match {
    case reporting: SupportsReportPartitioning => reporting.outputPartitioning()
    case _                                     => new UnknownPartitioning(0)
  }

  /** No scan of Iceberg 1.12.0 reports one. Another release would derive it from the tasks that are
    * left, as it has to after its own run-time filters.
    */
  override def ordering: Seq[SortOrder] = confined match {
    case reporting: SupportsReportOrdering => reporting.outputOrdering().toSeq
    case _                                 => Nil
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
    val atRunTime = IcebergScan.AtRunTime(left, own, tasks.planned)
    new IcebergScan(name, files, kept, lacksFilters, make, Some(atRunTime))
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

  /** Iceberg itself joins parts that touch, where it reads them in one partition. */
  private val EachRowGroup = 1L

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
}
