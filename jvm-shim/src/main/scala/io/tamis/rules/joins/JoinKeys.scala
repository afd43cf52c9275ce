package io.tamis.rules.joins

import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}

/** The sides of a join from which rows without a match may be left out: PruneForJoins has the
  * proof.
  */
final case class JoinSides(left: Boolean, right: Boolean) {
  def any: Boolean = left || right
}

object JoinSides {
  val both: JoinSides = JoinSides(left = true, right = true)
  val onlyRight: JoinSides = JoinSides(left = false, right = true)

  val neither: JoinSides = JoinSides(left = false, right = false)

  def of(join: Join): JoinSides = join.joinType match {
    case _ if isStateful(join.left, join.right) => neither
    case Inner | Cross | LeftSemi               => both
    case LeftOuter | LeftAnti                   => onlyRight
    case RightOuter                             => JoinSides(left = true, right = false)
    case _                                      => neither
  }

  /** Whether a join of these sides keeps their rows for later batches of a stream: a row without a
    * match in this batch may find one later, and the rows of this batch may match earlier ones.
    */
  def isStateful(left: LogicalPlan, right: LogicalPlan): Boolean =
    left.isStreaming && right.isStreaming
}

/** Extracts the keys that a conjunct equates. */
object JoinKeys {

  /** The keys of the left side and those of the right side. */
  def of(join: Join): Seq[(Expression, Expression)] =
    in(join.condition.toSeq, join.left, join.right)

  def in(
      conditions: Seq[Expression],
      left: LogicalPlan,
      right: LogicalPlan
  ): Seq[(Expression, Expression)] =
    conditions.flatMap(ExpressionWriter.conjuncts).flatMap(of(_, left, right))

  /** The key of the left side and that of the right side; None if the conjunct is not an equality
    * of both.
    */
  def of(
      conjunct: Expression,
      left: LogicalPlan,
      right: LogicalPlan
  ): Option[(Expression, Expression)] =
    conjunct match {
      case EqualTo(a, b)
          if a.dataType == b.dataType && KeyLineage.isKey(a) && KeyLineage.isKey(b) =>
        sides(a, b, left, right)
      case _ => None
    }

  /** The one of two expressions that is of the left side, and the one of the right side. */
  def sides(
      a: Expression,
      b: Expression,
      left: LogicalPlan,
      right: LogicalPlan
  ): Option[(Expression, Expression)] =
    if (isOf(a, left) && isOf(b, right)) Some((a, b))
    else if (isOf(b, left) && isOf(a, right)) Some((b, a))
    else None

  private def isOf(key: Expression, plan: LogicalPlan): Boolean =
    key.references.nonEmpty && key.references.subsetOf(plan.outputSet)
}

/** IN (SELECT …), EXISTS or NOT EXISTS, which Spark turns into a join later.
  *
  * @param plan
  *   the right side, already optimized
  * @param over
  *   the conjunct with another right side of the same output
  */
final case class SubqueryJoin(
    plan: LogicalPlan,
    keys: Seq[(Expression, Expression)],
    sides: JoinSides,
    over: LogicalPlan => Expression
)

object SubqueryJoin {

  /** None if the conjunct is not one of these, or equates no keys. */
  def of(conjunct: Expression, child: LogicalPlan): Option[SubqueryJoin] =
    candidate(conjunct, child)
      .filter(join => join.keys.nonEmpty && !JoinSides.isStateful(child, join.plan))

  private def candidate(conjunct: Expression, child: LogicalPlan): Option[SubqueryJoin] =
    conjunct match {
      case in @ InSubquery(values, query) if values.size <= query.plan.output.size =>
        val equated = values.zip(query.plan.output).map { case (v, o) => EqualTo(v, o) }
        val keys = JoinKeys.in(equated ++ query.joinCond, child, query.plan)
        def over(plan: LogicalPlan) = in.copy(query = query.withNewPlan(plan))
        Some(SubqueryJoin(query.plan, keys, JoinSides.both, over))
      case e: Exists =>
        val keys = JoinKeys.in(e.joinCond, child, e.plan)
        Some(SubqueryJoin(e.plan, keys, JoinSides.both, e.withNewPlan(_)))
      case Not(e: Exists) =>
        val keys = JoinKeys.in(e.joinCond, child, e.plan)
        Some(SubqueryJoin(e.plan, keys, JoinSides.onlyRight, p => Not(e.withNewPlan(p))))
      case _ => None
    }
}
