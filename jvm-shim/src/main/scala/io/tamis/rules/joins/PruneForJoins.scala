package io.tamis.rules.joins

import io.tamis.conf.TamisConf
import io.tamis.planning.AskAhead
import io.tamis.rules.filters.PlainConjuncts
import io.tamis.rules.goals.GoalRule
import io.tamis.rules.relations.{TamisRelation, TamisScanRelation}
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.{And, Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf

/** Prunes files of one side of a join on l.k = r.k that hold no key in the range of the other
  * side's keys. The planner computes the range and chooses the files in one request.
  *
  * Let D be the rows of a side whose key is NULL or outside of the range of the other side's keys.
  * No row of D has a match: `=` is not true for a NULL or for two different values, and a join
  * condition is true only if each of its conjuncts is. So D may be left out, in part or as a whole,
  * wherever rows without a match have no effect:
  *
  * {{{
  *   inner         left and right: a row without a match is in no row of the result
  *   left semi     left: it is not in the result; right: it makes no left row pass
  *   left outer    right: left rows stay the same; but a left row without a match is kept
  *   left anti     right: it excludes no left row; but a left row without a match is the result
  *   right outer   left, as left outer mirrored
  *   full outer    none: rows of either side are kept
  *   others        none
  *   two streams   none: they are matched with rows of other batches, too
  * }}}
  *
  * IN (SELECT …) and EXISTS are left semi joins that Spark has not turned into joins yet, NOT
  * EXISTS is a left anti join. NOT IN does not qualify: one NULL on its right side changes every
  * row. `<=>` treats NULLs as equal, so it does not provide such a key.
  *
  * A range travels from any scan to any other: bottom-up, each join confines its sides, and
  * top-down, what was learned above reaches the joins below. Passes alternate until one of them
  * prunes no file: then every exchange of ranges has been tried on the remaining files, and running
  * the rule again changes nothing.
  */
object PruneForJoins extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean = TamisConf.joinsEnabled(conf)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = {
    AskAhead(plan.transformUp(exchange))
    confined(plan, MostPasses)(_.transformUp(exchange), _.transformDown(exchange))
  }

  /** Longer chains of joins are rare, and each pass costs questions. */
  private val MostPasses = 6

  private def confined(plan: LogicalPlan, passes: Int)(
      pass: LogicalPlan => LogicalPlan,
      other: LogicalPlan => LogicalPlan
  ): LogicalPlan = {
    val passed = pass(plan)
    if (passes > 1 && filesOf(passed) < filesOf(plan)) confined(passed, passes - 1)(other, pass)
    else passed
  }

  /** The total number of files that the scans may read. A scan that was never confined counts more
    * than any confined one.
    */
  private def filesOf(plan: LogicalPlan): Long = plan.collectWithSubqueries {
    case TamisRelation(table)    => table.purpose.within.fold(Int.MaxValue.toLong)(_.count.toLong)
    case TamisScanRelation(scan) => scan.decision.shown.kept.count.toLong
  }.sum

  private val exchange: PartialFunction[LogicalPlan, LogicalPlan] = {
    case join: Join if join.condition.nonEmpty && JoinSides.of(join).any =>
      val sides = JoinSides.of(join)
      val (l, r) = exchanged(join.left, join.right, JoinKeys.of(join), sides)
      if ((l eq join.left) && (r eq join.right)) join else join.withNewChildren(Seq(l, r))
    // rand(7) numbers the rows that reach it: without some of them the others pass or fail anew
    case filter @ Filter(condition, child)
        if SubqueryExpression.hasInOrCorrelatedExistsSubquery(condition) &&
          condition.deterministic =>
      // the other conjuncts of the filter also hold for the rows that are compared
      val plain = PlainConjuncts.of(condition)
      val filtered = PlainConjuncts.filtered(plain, child)
      val before = ExpressionWriter.conjuncts(condition)
      var left = filtered
      val after = before.map { conjunct =>
        SubqueryJoin.of(conjunct, left).fold(conjunct) { join =>
          val (l, r) = exchanged(left, join.plan, join.keys, join.sides)
          left = l
          if (r eq join.plan) conjunct else join.over(r)
        }
      }
      val same = after.zip(before).forall { case (a, b) => a eq b }
      if (same && (left eq filtered)) filter
      else {
        val below = if (plain.isEmpty) left else left.children.head
        Filter(if (same) condition else after.reduce(And(_, _)), below)
      }
  }

  private def exchanged(
      left: LogicalPlan,
      right: LogicalPlan,
      keys: Seq[(Expression, Expression)],
      sides: JoinSides
  ): (LogicalPlan, LogicalPlan) = keys.foldLeft((left, right)) {
    case ((l, r), (leftKey, rightKey)) =>
      val newRight = if (sides.right) confinedBy(leftKey, l, rightKey, r) else r
      val newLeft = if (sides.left) confinedBy(rightKey, newRight, leftKey, l) else l
      (newLeft, newRight)
  }

  /** `to` without files that hold no key in the range of the keys of `from`. Not tried if `to` has
    * at most one file to choose from: otherwise planning a query of many small tables would take
    * longer than running it.
    */
  private def confinedBy(
      fromKey: Expression,
      from: LogicalPlan,
      toKey: Expression,
      to: LogicalPlan
  ): LogicalPlan =
    if (!ConfineToKeys.hasChoice(toKey, to)) to
    else
      KeyOrigins.of(fromKey, from) match {
        case Right(origins)  => ConfineToKeys(toKey, to, origins)
        case Left(Some(why)) => ConfineToKeys.explained(toKey, to, why)
        case Left(None)      => to
      }
}
