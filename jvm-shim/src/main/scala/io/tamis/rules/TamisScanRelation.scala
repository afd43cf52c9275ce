package io.tamis.rules

import io.tamis.source.{GoalOutcome, Kept, TamisScan}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/** A relation whose scan was built already: those in subqueries, which Spark optimizes first. */
object TamisScanRelation {

  def unapply(plan: LogicalPlan): Option[TamisScan] = plan match {
    case relation: DataSourceV2ScanRelation =>
      relation.scan match {
        case scan: TamisScan => Some(scan)
        case _               => None
      }
    case _ => None
  }

  /** The relation with a scan of those files among its own.
    *
    * `makeCopy`, never `copy`: the arity differs from version to version (seen on 4.0 to 4.3).
    */
  def confined(
      relation: LogicalPlan,
      scan: TamisScan,
      files: Option[Kept],
      goal: GoalOutcome
  ): LogicalPlan = {
    val kept = files.fold(scan.decision.kept)(scan.decision.kept.and)
    val decision =
      if (kept.count == scan.decision.kept.count) scan.decision
      else scan.decision.copy(kept = kept, keptRecords = None, rowGroups = None)
    val purpose = scan.table.purpose.withGoal(goal).copy(within = Some(kept))
    val confined = new TamisScan(scan.table.scannedFor(purpose), decision, scan.required)
    relation.makeCopy(relation.productIterator.map {
      case _: Scan => confined
      case other   => other.asInstanceOf[AnyRef]
    }.toArray)
  }
}
