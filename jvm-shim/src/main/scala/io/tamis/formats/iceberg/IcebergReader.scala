package io.tamis.formats.iceberg

import io.tamis.formats.Members
import io.tamis.planning.{Decision, FileSelection, ReportedStatistics}
import io.tamis.scan.{FilesReader, FilesScan, ParquetReader, TamisTable}
import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.partitioning.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.datasources.v2.PushablePredicate
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Reads files of Iceberg: with Spark's own Parquet reader where that returns the same rows, and
  * else with Iceberg's scan, confined to the files that are kept. Iceberg's scan applies deletes
  * and reads whatever Iceberg has ever written.
  */
private[iceberg] final class IcebergReader(
    table: IcebergTable,
    files: IcebergFiles,
    options: CaseInsensitiveStringMap
) extends FilesReader {

  override val wholeFiles: Boolean = true

  override def scan(
      of: TamisTable,
      decision: Decision,
      kept: FileSelection,
      columns: StructType
  ): FilesScan =
    if (table.isReadAlikeBySpark && files.arePlain(decision.kept.ordinals))
      ParquetReader.scan(of, decision, kept, columns)
    else new IcebergScan(table, files, kept, ofIceberg(decision, columns))

  /** As Iceberg's scan does: by the types of the columns. */
  override def statistics(kept: FileSelection, columns: StructType): Option[Statistics] = {
    val rows = files.recordsIn(kept.ordinals)
    Some(ReportedStatistics.ofSize(rows * columns.defaultSize, Some(rows)))
  }

  /** Iceberg's scan of all files, with the conjuncts that Spark still applies and the ranges that
    * they imply, by which Iceberg skips row groups.
    */
  private def ofIceberg(decision: Decision, columns: StructType): Scan = {
    val builder = table.newScanBuilder(options)
    builder match {
      case filtered: SupportsPushDownV2Filters =>
        val predicates = (decision.residual ++ decision.implied)
          .flatMap(PushablePredicate.unapply(_))
        filtered.pushPredicates(predicates.toArray)
      case _ =>
    }
    builder match {
      case projected: SupportsPushDownRequiredColumns => projected.pruneColumns(columns)
      case _                                          =>
    }
    builder.build()
  }
}

/** Iceberg's own scan, confined to some files.
  *
  * The tasks of Iceberg's scan are replaced by those of the kept files, as its own run-time filters
  * do (`resetTasks` of SparkPartitioningAwareScan). Everything else is Iceberg's.
  */
private[iceberg] final class IcebergScan(
    table: IcebergTable,
    files: IcebergFiles,
    kept: FileSelection,
    scan: Scan
) extends FilesScan {

  private lazy val confined: Scan = {
    val tasks = Members.get[util.List[AnyRef]](scan, "tasks").asScala
    val surviving = tasks.filter { task =>
      val location = Members.get[String](Members.call(task, "file"), "location")
      // filters that were proven for all files of the listing have left the plan
      val ordinal = files
        .ordinalOf(location)
        .getOrElse(
          throw new IllegalStateException(
            s"Iceberg reads $location of ${table.name}, which is not among the files of its " +
              "manifests. Run the query again with spark.tamis.enabled=false, and report this error"
          )
        )
      kept.contains(ordinal)
    }
    if (surviving.size < tasks.size)
      Members.call(scan, "resetTasks", new util.ArrayList(surviving.asJava))
    scan
  }
  private lazy val batch = confined.toBatch

  override def readSchema: StructType = scan.readSchema()
  override def columnarSupportMode: Scan.ColumnarSupportMode = scan.columnarSupportMode()
  override def partitions: Array[InputPartition] = batch.planInputPartitions()
  override lazy val readers: PartitionReaderFactory = batch.createReaderFactory()
  override def metadata: Map[String, String] = Map("Format" -> "iceberg")

  override def partitioning: Partitioning = confined match {
    case reporting: SupportsReportPartitioning => reporting.outputPartitioning()
    case _                                     => new UnknownPartitioning(0)
  }

  override def equals(other: Any): Boolean = other match {
    case that: IcebergScan => scan == that.plain && kept == that.selected
    case _                 => false
  }
  private def plain: Scan = scan
  private def selected: FileSelection = kept
  override def hashCode(): Int = kept.hashCode()
}
