package io.tamis.formats.iceberg

import io.tamis.planning.Decision
import io.tamis.scan.{FilesReader, FilesScan, TamisTable}

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.v2.PushablePredicate
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Reads files by Iceberg's own scan, confined to those that are kept. It applies deletes, and
  * reads whatever Iceberg has ever written.
  *
  * Spark's Parquet reader would save Iceberg's planning, but finds columns by name, and nothing in
  * the metadata of a table proves that the names in files are those of its schema: schemas that no
  * snapshot needs are removed, and so may be the name mapping of imported files.
  */
private[iceberg] final class IcebergReader(
    table: IcebergTable,
    files: IcebergFiles,
    options: CaseInsensitiveStringMap
) extends FilesReader {

  override lazy val wholeFiles: Boolean = !table.splitsTasks

  override def scan(
      of: TamisTable,
      decision: Decision,
      columns: StructType
  ): FilesScan =
    new IcebergScan(
      table.name,
      files,
      decision.kept,
      decision.conjuncts.exists(_.isExact),
      () => ofIceberg(decision, columns)
    )

  /** Iceberg's scan of all files, with the conjuncts that Spark still applies and the ranges that
    * they imply, by which Iceberg skips files and row groups.
    */
  private def ofIceberg(decision: Decision, columns: StructType): Scan = {
    val builder = table.newScanBuilder(options)
    pushed(builder, decision.residual ++ decision.implied)
    builder match {
      case projected: SupportsPushDownRequiredColumns => projected.pruneColumns(columns)
      case _                                          =>
    }
    builder.build()
  }

  /** @return
    *   whether Iceberg applies all of them to every row
    */
  private def pushed(builder: ScanBuilder, filters: Seq[Expression]): Boolean = {
    val translated = filters.map(PushablePredicate.unapply(_))
    builder match {
      case filtered: SupportsPushDownV2Filters =>
        val left = filtered.pushPredicates(translated.flatten.toArray[V2Predicate])
        left.isEmpty && translated.forall(_.isDefined)
      case _ => filters.isEmpty
    }
  }

  /** What Iceberg itself answers from its metadata, without reading a file. */
  override def aggregated(filters: Seq[Expression], aggregation: Aggregation): Option[Scan] = {
    val builder = table.newScanBuilder(options)
    builder match {
      case aggregating: SupportsPushDownAggregates
          if pushed(builder, filters) && aggregating.pushAggregation(aggregation) =>
        Some(builder.build())
      case _ => None
    }
  }
}
