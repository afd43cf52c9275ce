package io.tamis.scan

import io.tamis.bridge.AnyFailure
import io.tamis.listing.Listing
import io.tamis.planning.{Decision, FileSelection, PlanningMetrics, ScanPlanner, UsedFilters}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation
import org.apache.spark.sql.connector.read.{Scan, SupportsPushDownAggregates}
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.execution.datasources.v2.FileScanBuilder
import org.apache.spark.sql.types.StructType

/** Asks the planner which files survive and which conjuncts Spark still has to apply.
  *
  * It is a FileScanBuilder because on 4.0 only its subclasses receive whole Catalyst expressions;
  * the other interfaces lose casts, functions, intervals and collations.
  */
final class TamisScanBuilder(table: TamisTable)
    extends FileScanBuilder(
      table.session,
      TamisScanBuilder.partitionedAs(table),
      table.relation.dataSchema
    )
    with SupportsPushDownAggregates {

  private var filters: Seq[Expression] = Nil
  private var answered: Option[Scan] = None
  private var decision: Option[Decision] = None
  private var required: StructType = table.schema

  /** Decides the scan for these filters.
    *
    * @return
    *   the conjuncts that Spark applies to the rows of the scan
    */
  override def pushFilters(filters: Seq[Expression]): Seq[Expression] = {
    this.filters = filters
    val decided = UsedFilters.leftIn(ScanPlanner.decide(table, filters), table.purpose.filterUses)
    decision = Some(decided)
    decided.residual
  }

  /** Spark only shows these; the scan's own description says more. */
  override def pushedFilters: Array[V2Predicate] = Array.empty

  override def pruneColumns(requiredSchema: StructType): Unit = required = requiredSchema

  /** Lets the format of the table answer an aggregation of all its rows that pass the filters, as
    * it would without tamis. Spark asks only if every filter has left the plan.
    */
  override def pushAggregation(aggregation: Aggregation): Boolean = {
    if (table.purpose.within.isEmpty)
      answered = AnyFailure.warned[Option[Scan]](
        AnyFailure.keyed("aggregated"),
        s"the statistics of ${table.name()} were not asked for an aggregate",
        "Report this error. The query reads the files."
      )(table.reader.aggregated(filters, aggregation))(_ => None)
    answered.isDefined
  }
  override def build(): Scan = answered.getOrElse(files())

  private def files(): Scan = {
    val scan = new TamisScan(table, decision.getOrElse(ScanPlanner.everything(table)), required)
    table.built = Some(scan)
    PlanningMetrics.planned(scan.decision)
    scan
  }
}

object TamisScanBuilder {

  /** An index with the partition columns of a table, which is all that the builder of Spark uses of
    * it. Each new one copies the Hadoop configuration.
    */
  private def partitionedAs(table: TamisTable): PartitioningAwareFileIndex =
    table.relation.location match {
      case index: PartitioningAwareFileIndex
          if index.partitionSchema == table.relation.partitionSchema =>
        index
      case _ => new FixedFileIndex(table, FileSelection.all(Listing.empty))
    }
}
