package io.tamis.rules.commands

import io.tamis.rules.filters.PlainConjuncts
import io.tamis.rules.joins.{JoinKeys, JoinSides}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}

/** Finds what is known of the rows of a scan that have an effect on a plan:
  *
  *   - under a filter: a row for which a conjunct is not true is dropped;
  *   - on a side of a join whose rows without a match have no effect (PruneForJoins has the proof):
  *     a row for which a conjunct of the condition is not true has no match, and neither has a row
  *     whose key equals no key of the other side.
  *
  * @param changed
  *   returns what replaces a scan, given what is known of its rows; not defined for other plans
  */
private[commands] final class TargetScans(
    changed: PartialFunction[(LogicalPlan, NeededRows), LogicalPlan]
) {

  def in(plan: LogicalPlan): LogicalPlan = plan.transformDown {
    // rand(42) would give other numbers to the rows after one that is skipped
    case filter @ Filter(condition, child) if condition.deterministic =>
      val needed = NeededRows(PlainConjuncts.of(condition), Nil, joined = false)
      replaced(filter, Seq(below(child, needed)))
    case join: Join if join.condition.exists(_.deterministic) && JoinSides.of(join).any =>
      val (sides, keys) = (JoinSides.of(join), JoinKeys.of(join))
      val left = if (sides.left) side(join, join.left, join.right, keys) else join.left
      val right =
        if (sides.right) side(join, join.right, join.left, keys.map(_.swap)) else join.right
      replaced(join, Seq(left, right))
  }

  /** @param keys
    *   keys of the side, and the keys of the other side that they are equal to
    */
  private def side(
      join: Join,
      of: LogicalPlan,
      other: LogicalPlan,
      keys: Seq[(Expression, Expression)]
  ): LogicalPlan = {
    val own = join.condition.toSeq
      .flatMap(PlainConjuncts.of)
      .filter(c => c.references.nonEmpty && c.references.subsetOf(of.outputSet))
    val equal = keys.map { case (key, its) => NeededKey(key, NeededKey.Source(its, other)) }
    below(of, NeededRows(own, equal, joined = true))
  }

  private def below(plan: LogicalPlan, needed: NeededRows): LogicalPlan = plan match {
    case Project(list, child) if list.forall(isOfRow) =>
      needed.below(list).fold(plan)(moved => replaced(plan, Seq(below(child, moved))))
    // Delta counts rows in conditions that are not deterministic: all of them have to arrive there
    case Filter(condition, child) if condition.deterministic =>
      replaced(plan, Seq(below(child, needed.and(PlainConjuncts.of(condition)))))
    case scan if !needed.isEmpty => changed.applyOrElse((scan, needed), (_: Any) => scan)
    case other                   => other
  }

  private def replaced(plan: LogicalPlan, children: Seq[LogicalPlan]): LogicalPlan =
    if (children.zip(plan.children).forall { case (a, b) => a eq b }) plan
    else plan.withNewChildren(children)

  /** Whether the expression depends on its row alone, or tells rows and files apart. Without some
    * of the files, rows get other numbers, but two rows still get two numbers: all that a MERGE
    * needs to see whether a row matches twice.
    */
  private def isOfRow(e: Expression): Boolean = e match {
    case _: InputFileName | _: MonotonicallyIncreasingID => true
    case Alias(child, _)                                 => isOfRow(child)
    case _                                               => e.deterministic
  }
}
