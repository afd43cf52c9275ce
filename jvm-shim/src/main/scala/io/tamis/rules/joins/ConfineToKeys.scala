package io.tamis.rules.joins

import io.tamis.planning.{
  AskAhead,
  FileSelection,
  OncePerRule,
  Question,
  Same,
  ScanGoal,
  ScanPlanner
}
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
      val asked =
        Asked(new Same(scan.table.listings), scan.conjuncts.map(new Same(_)), key, origins)
      if (AskAhead.isNoting) filesFor(key, scan, origins)
      else OncePerRule(asked)(filesFor(key, scan, origins))
    }

  private def filesFor(
      key: Expression,
      scan: ScanInPlan,
      origins: KeyOrigins
  ): Either[Reason, FileSelection] = {
    val writer = Question.writer(scan.table)
    val goal = JoinGoal(writer.write(key), origins.scans, origins.isValue(key).map(writer.write))
    ScanPlanner.filesFor(scan.table, scan.conjuncts, goal)
  }

  /** The key of an answer. Whether a file may hold one of the keys does not depend on which other
    * files are read. So the answer for more files of the same relation, to the same filters, and
    * for keys of the same origins, is also the answer for those that are left of them: a rule that
    * comes back to a join asks only if the files of its other side have become fewer.
    */
  private final case class Asked(
      relation: Same,
      filters: Seq[Same],
      key: Expression,
      origins: KeyOrigins
  )

  /** The same plan, with the reason on its scans why they were not confined. */
  def explained(key: Expression, plan: LogicalPlan, why: Reason): LogicalPlan =
    below(key, plan)((_, _) => Left(why))

  /** Whether a scan that the key comes from has files to choose from. */
  def hasChoice(key: Expression, plan: LogicalPlan): Boolean =
    KeyLineage
      .below(key, plan)((_, at) => scanAt(at))
      .exists(scan => ScanPlanner.hasChoice(scan.table, scan.conjuncts))

  private def below(key: Expression, plan: LogicalPlan)(
      files: (Expression, ScanInPlan) => Either[Reason, FileSelection]
  ): LogicalPlan = KeyLineage.changedBelow(key, plan) { (key, at) =>
    scanAt(at).map { scan =>
      val before = scan.table.purpose
      val left = files(key, scan).map(chosen => before.within.fold(chosen)(_.and(chosen)))
      if (before.confined(join(key), left) == before) at else scan.confined(join(key), left)
    }
  }

  private def scanAt(plan: LogicalPlan): Option[ScanInPlan] =
    ScanInPlan.unapply(plan).filter(_.isRepeatable)

  private def join(key: Expression): ScanGoal = ScanGoal.Join(ExpressionWriter.sqlOf(key))
}
