package io.tamis.rules.joins

import io.tamis.planning.{FileSelection, GoalOutcome, Question, ScanPlanner}
import io.tamis.rules.filters.PlainConjuncts
import io.tamis.rules.relations.{TamisRelation, TamisScanRelation}
import io.tamis.scan.TamisTable
import io.tamis.wire.{ConfineGoal, ExpressionWriter, GoalReader, Reason}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

/** Prunes files of scans whose rows have no key in a range. Nothing else in the plan changes: the
  * range does not become a filter.
  */
object ConfineToKeys {

  /** The plan with its scans confined to files that may hold a key in the range, or the plan itself
    * if the key comes from no scan. All rows that are left out have a key that is NULL or outside
    * of the range.
    */
  def apply(key: Expression, plan: LogicalPlan, range: KeyRange): LogicalPlan =
    below(key, plan)(scan => confined(scan, range))

  /** The same plan, with the reason on its scans why they were not confined. */
  def explained(key: Expression, plan: LogicalPlan, why: Reason): LogicalPlan =
    below(key, plan)(scan => scan.scannedFor(goal(scan, Some(why)), None))

  /** Whether a scan that the key comes from has files to choose from. */
  def hasChoice(key: Expression, plan: LogicalPlan): Boolean =
    KeyLineage.below(key, plan)(scanAt).exists(s => ScanPlanner.hasChoice(s.table, s.conjuncts))

  /** A scan that the key comes from.
    *
    * @param scannedFor
    *   the plan with the scan confined to these of its files
    */
  private final case class Scanned(
      key: Expression,
      table: TamisTable,
      conjuncts: Seq[Expression],
      scannedFor: (GoalOutcome, Option[FileSelection]) => LogicalPlan
  )

  private def below(key: Expression, plan: LogicalPlan)(f: Scanned => LogicalPlan): LogicalPlan =
    KeyLineage.changedBelow(key, plan)((k, p) => scanAt(k, p).map(f))

  private def scanAt(key: Expression, plan: LogicalPlan): Option[Scanned] = plan match {
    case filter @ Filter(condition, relation @ TamisRelation(table)) if condition.deterministic =>
      val conjuncts = PlainConjuncts.of(condition)
      Some(
        Scanned(key, table, conjuncts, (g, k) => filter.copy(child = again(relation, table, g, k)))
      )
    case relation @ TamisRelation(table) =>
      Some(Scanned(key, table, Nil, again(relation, table, _, _)))
    case relation @ TamisScanRelation(scan) =>
      val conjuncts = scan.decision.conjuncts.map(_.expression)
      val table = scan.table.within(scan.decision.kept)
      val confined = (g: GoalOutcome, k: Option[FileSelection]) =>
        TamisScanRelation.confined(relation, scan, k, g)
      Some(Scanned(key, table, conjuncts, confined))
    case _ => None
  }

  private def confined(scan: Scanned, range: KeyRange): LogicalPlan = {
    val writer = Question.writer(scan.table)
    val predicate = writer.write(range.predicate(scan.key))
    ScanPlanner.ask(scan.table, scan.conjuncts, ConfineGoal(predicate)) match {
      case Left(why)         => scan.scannedFor(goal(scan, Some(why)), None)
      case Right(goalAnswer) =>
        val listing = goalAnswer.asked.listing
        GoalReader.files(goalAnswer.answer, listing.size) match {
          case Right(files) =>
            scan.scannedFor(goal(scan, None), Some(FileSelection.of(listing, files)))
          case Left(why) => scan.scannedFor(goal(scan, Some(why)), None)
        }
    }
  }

  private def goal(scan: Scanned, why: Option[Reason]): GoalOutcome =
    GoalOutcome(s"JOIN ON ${ExpressionWriter.sqlOf(scan.key)}", why)

  private def again(
      relation: LogicalPlan,
      table: TamisTable,
      goal: GoalOutcome,
      files: Option[FileSelection]
  ): LogicalPlan = {
    val purpose = table.purpose.withGoal(goal)
    val confined = purpose.copy(within = files.orElse(purpose.within))
    TamisRelation.of(table.scannedFor(confined), relation.output)
  }
}
