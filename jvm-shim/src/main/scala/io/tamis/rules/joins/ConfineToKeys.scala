package io.tamis.rules.joins

import io.tamis.planning.{Question, ScanGoal, ScanPlanner}
import io.tamis.rules.relations.ScanInPlan
import io.tamis.wire.{ExpressionWriter, JoinGoal, Reason}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Prunes files of scans whose rows have no key of the other side of a join. Nothing else in the
  * plan changes: the keys do not become a filter.
  */
object ConfineToKeys {

  /** The plan with its scans confined to files that may hold a key of these origins, or the plan
    * itself if the key comes from no scan. Every row that is left out has a key that is NULL or not
    * among the keys of these origins.
    */
  def apply(key: Expression, plan: LogicalPlan, origins: KeyOrigins): LogicalPlan =
    below(key, plan) { (key, scan) =>
      val writer = Question.writer(scan.table)
      val goal =
        JoinGoal(writer.write(key), origins.scans, origins.isValue(key).map(writer.write))
      scan.confined(join(key), ScanPlanner.filesFor(scan.table, scan.conjuncts, goal))
    }

  /** The same plan, with the reason on its scans why they were not confined. */
  def explained(key: Expression, plan: LogicalPlan, why: Reason): LogicalPlan =
    below(key, plan)((key, scan) => scan.confined(join(key), Left(why)))

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

  private def join(key: Expression): ScanGoal = ScanGoal.Join(ExpressionWriter.sqlOf(key))
}
