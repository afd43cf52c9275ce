package io.tamis.rules

import io.tamis.source.{GoalOutcome, Kept, Question, ScanPlanner, TamisTable}
import io.tamis.wire.{ConfineGoal, ExpressionWriter, GoalReader, Reason}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

/** Leaves out files of scans whose rows have no key in a range. Nothing else of a plan changes: the
  * range is no filter.
  */
object ConfineToKeys {

  /** The plan without some rows whose key is NULL or outside of the range, or the plan itself. */
  def apply(key: Expression, plan: LogicalPlan, range: KeyRange): LogicalPlan =
    below(key, plan)(scan => confined(scan, range))

  /** The same plan, that says on its scans why nothing came of it. */
  def explained(key: Expression, plan: LogicalPlan, why: Reason): LogicalPlan =
    below(key, plan)(scan => scan.scannedFor(goal(scan, Some(why)), None))

  /** Whether a scan that the key comes from has files to choose from. */
  def hasChoice(key: Expression, plan: LogicalPlan): Boolean =
    KeyLineage.below(key, plan)(scanAt).exists(s => ScanPlanner.hasChoice(s.table, s.conjuncts))

  /** @param files where the scan is confined to: among those that it had */
  private final case class Scanned(
      key: Expression,
      table: TamisTable,
      conjuncts: Seq[Expression],
      scannedFor: (GoalOutcome, Option[Kept]) => LogicalPlan
  )

  private def below(key: Expression, plan: LogicalPlan)(f: Scanned => LogicalPlan): LogicalPlan =
    KeyLineage.changedBelow(key, plan)((k, p) => scanAt(k, p).map(f))

  private def scanAt(key: Expression, plan: LogicalPlan): Option[Scanned] = plan match {
    case filter @ Filter(condition, relation @ TamisRelation(table)) if condition.deterministic =>
      val told = PlainConjuncts.of(condition)
      Some(Scanned(key, table, told, (g, k) => filter.copy(child = again(relation, table, g, k))))
    case relation @ TamisRelation(table) =>
      Some(Scanned(key, table, Nil, again(relation, table, _, _)))
    case relation @ TamisScanRelation(scan) =>
      val told = scan.decision.conjuncts.map(_.expression)
      val table = scan.table.within(scan.decision.kept)
      val confined = (g: GoalOutcome, k: Option[Kept]) =>
        TamisScanRelation.confined(relation, scan, k, g)
      Some(Scanned(key, table, told, confined))
    case _ => None
  }

  private def confined(scan: Scanned, range: KeyRange): LogicalPlan = {
    val writer = Question.writer(scan.table)
    val predicate = writer.write(range.predicate(scan.key))
    ScanPlanner.ask(scan.table, scan.conjuncts, ConfineGoal(predicate)) match {
      case Left(why)    => scan.scannedFor(goal(scan, Some(why)), None)
      case Right(found) =>
        val listing = found.asked.listing
        GoalReader.files(found.answer, listing.size) match {
          case Right(files) => scan.scannedFor(goal(scan, None), Some(Kept.of(listing, files)))
          case Left(why)    => scan.scannedFor(goal(scan, Some(why)), None)
        }
    }
  }

  private def goal(scan: Scanned, why: Option[Reason]): GoalOutcome =
    GoalOutcome(s"JOIN ON ${ExpressionWriter.sqlOf(scan.key)}", why)

  private def again(
      relation: LogicalPlan,
      table: TamisTable,
      goal: GoalOutcome,
      files: Option[Kept]
  ): LogicalPlan = {
    val purpose = table.purpose.withGoal(goal)
    val confined = purpose.copy(within = files.orElse(purpose.within))
    TamisRelation.of(table.scannedFor(confined), relation.output)
  }
}
