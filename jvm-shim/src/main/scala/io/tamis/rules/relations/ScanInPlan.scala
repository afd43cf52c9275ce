package io.tamis.rules.relations

import io.tamis.planning.{FileSelection, ScanGoal}
import io.tamis.rules.filters.PlainConjuncts
import io.tamis.scan.{TamisScan, TamisTable}
import io.tamis.wire.Reason
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

/** A scan of tamis in a logical plan. */
sealed trait ScanInPlan {

  /** The table, confined to the files that the scan may read. */
  def table: TamisTable

  /** The conjuncts over the scan that the planner can answer questions about. */
  def conjuncts: Seq[Expression]

  /** Whether the plan yields the same rows of a file, whichever other files it reads. */
  def isRepeatable: Boolean

  /** The plan with the scan confined to these files; Left: to the same files as before. */
  def confined(goal: ScanGoal, files: Either[Reason, FileSelection]): LogicalPlan
}

object ScanInPlan {
  def unapply(plan: LogicalPlan): Option[ScanInPlan] = plan match {
    case FilteredRelation(scan)             => Some(scan)
    case relation @ TamisScanRelation(scan) => Some(new BuiltScan(relation, scan))
    case _                                  => None
  }
}

/** A relation of tamis whose scan is not built yet, with the filter directly on it, if any. */
final class FilteredRelation(
    val relation: LogicalPlan,
    val table: TamisTable,
    val condition: Option[Expression]
) extends ScanInPlan {
  override def conjuncts: Seq[Expression] = condition.toSeq.flatMap(PlainConjuncts.of)
  override def isRepeatable: Boolean = condition.forall(_.deterministic)
  override def confined(goal: ScanGoal, files: Either[Reason, FileSelection]): LogicalPlan = {
    val confined = TamisRelation.scannedFor(relation)(_.confined(goal, files))
    condition.fold(confined)(Filter(_, confined))
  }
}

object FilteredRelation {
  def unapply(plan: LogicalPlan): Option[FilteredRelation] = plan match {
    case Filter(condition, relation @ TamisRelation(table)) =>
      Some(new FilteredRelation(relation, table, Some(condition)))
    case TamisRelation(table) => Some(new FilteredRelation(plan, table, None))
    case _                    => None
  }
}

/** A scan that is built: its filter has left the plan as far as it is exact. */
final class BuiltScan(relation: LogicalPlan, scan: TamisScan) extends ScanInPlan {
  override val table: TamisTable = scan.table.within(scan.decision.shown.kept)
  override def conjuncts: Seq[Expression] = scan.decision.shown.conjuncts.map(_.expression)
  override def isRepeatable: Boolean = true
  override def confined(goal: ScanGoal, files: Either[Reason, FileSelection]): LogicalPlan =
    TamisScanRelation.confined(relation, scan, goal, files)
}
