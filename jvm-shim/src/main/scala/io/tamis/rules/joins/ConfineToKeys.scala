package io.tamis.rules.joins

import io.tamis.planning.{GoalOutcome, Question, ScanPlanner}
import io.tamis.rules.relations.ScanInPlan
import io.tamis.wire.{ConfineGoal, ExpressionWriter, Reason}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Prunes files of scans whose rows have no key in a range. Nothing else in the plan changes: the
  * range does not become a filter.
  */
object ConfineToKeys {

  /** The plan with its scans confined to files that may hold a key in the range, or the plan itself
    * if the key comes from no scan. All rows that are left out have a key that is NULL or outside
    * of the range.
    */
  def apply(key: Expression, plan: LogicalPlan, range: KeyRange): LogicalPlan =
    below(key, plan) { (key, scan) =>
      val predicate = Question.writer(scan.table).write(range.predicate(key))
      ScanPlanner.filesFor(scan.table, scan.conjuncts, ConfineGoal(predicate)) match {
        case Right(files) => scan.confined(goal(key, None), Some(files))
        case Left(why)    => scan.confined(goal(key, Some(why)), None)
      }
    }

  /** The same plan, with the reason on its scans why they were not confined. */
  def explained(key: Expression, plan: LogicalPlan, why: Reason): LogicalPlan =
    below(key, plan)((key, scan) => scan.confined(goal(key, Some(why)), None))

  /** Whether a scan that the key comes from has files to choose from. */
  def hasChoice(key: Expression, plan: LogicalPlan): Boolean =
    KeyLineage
      .below(key, plan)((_, at) => scanAt(at))
      .exists(scan => ScanPlanner.hasChoice(scan.table, scan.conjuncts))

  private def below(key: Expression, plan: LogicalPlan)(
      changed: (Expression, ScanInPlan) => LogicalPlan
  ): LogicalPlan =
    KeyLineage.changedBelow(key, plan)((key, at) => scanAt(at).map(changed(key, _)))

  private def scanAt(plan: LogicalPlan): Option[ScanInPlan] =
    ScanInPlan.unapply(plan).filter(_.isRepeatable)

  private def goal(key: Expression, why: Option[Reason]): GoalOutcome =
    GoalOutcome(s"JOIN ON ${ExpressionWriter.sqlOf(key)}", why)
}
