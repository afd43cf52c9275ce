package io.tamis.rules.joins

import io.tamis.wire.{ExpressionWriter, TypeSets}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.AGGREGATE
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

import scala.collection.mutable
import scala.util.Try

/** A child from which the values of a key come.
  *
  * @param child
  *   its index among the children
  * @param key
  *   the key over the output of the child. Every value of the key above is NULL, one of `added`, or
  *   the value of `key` in some row of the child
  * @param mayLose
  *   whether rows of the child may be left out because of their key. If all rows with some keys are
  *   left out of the child, exactly the rows with these keys are missing above
  * @param added
  *   values of the key, never NULL, in rows that come from no row of the child: the rows that an
  *   outer join extends with NULLs
  */
final case class KeyBelow(
    child: Int,
    key: Expression,
    mayLose: Boolean,
    added: Seq[Any] = Nil
)

/** Traces a key over the output of a plan one step down, to where its values come from. */
object KeyLineage {

  /** The children from which the values of the key come. Nil: not supported. A UNION ALL has
    * several, and the values come from all of them.
    */
  def step(key: Expression, plan: LogicalPlan): Seq[KeyBelow] = {
    val below = origins(key, plan)
    if (below.exists(_.mayLose) && mayRaiseForParts(plan)) below.map(_.copy(mayLose = false))
    else below
  }

  private def origins(key: Expression, plan: LogicalPlan): Seq[KeyBelow] = plan match {
    case _ if !isKey(key) || isStateful(plan) => Nil
    // One output row for each input row, with the expression that the key refers to.
    case Project(list, child) =>
      replaced(key, list).toSeq.map(KeyBelow(0, _, list.forall(_.deterministic)))
    // The condition depends on each row alone.
    case Filter(condition, _) => Seq(KeyBelow(0, key, condition.deterministic))
    case join: Join           => ofJoin(key, join)
    // A group has one value of each grouping column, and so one key: what is above it is missing as a
    // whole. But only some of its rows may be left out, so its aggregates may have other values.
    case groups: Aggregate if groups.groupingExpressions.nonEmpty =>
      replaced(key, groups.aggregateExpressions)
        .filter(k => !k.exists(_.isInstanceOf[AggregateExpression]))
        .filter(k => isOfGroups(k, groups.groupingExpressions))
        .toSeq
        .map(KeyBelow(0, _, mayLose = groups.expressions.forall(_.deterministic)))
    case union: Union =>
      union.children.zipWithIndex.map { case (child, i) =>
        val names = AttributeMap(union.output.zip(child.output))
        KeyBelow(i, key.transform { case a: Attribute => names.getOrElse(a, a) }, mayLose = true)
      }
    case _: Sort | _: RepartitionOperation => Seq(KeyBelow(0, key, mayLose = true))
    // Some of the rows of the child: others would take the place of those that are left out.
    case _: GlobalLimit | _: LocalLimit | _: Offset | _: Sample => Seq(KeyBelow(0, key, false))
    case window: Window if key.references.subsetOf(window.child.outputSet) =>
      Seq(KeyBelow(0, key, mayLose = false)) // values are computed from other rows of a partition
    case _ => Nil
  }

  /** Whether an operator of a stream remembers rows of earlier batches: what it returns need not
    * come from rows of this batch, and what it does not get now is missing in later batches.
    */
  private def isStateful(plan: LogicalPlan): Boolean = plan match {
    case join: Join   => JoinSides.isStateful(join.left, join.right)
    case _: Aggregate => plan.isStreaming
    case _            => false
  }

  /** Applies `pick` to the plans that the key comes from, down to steps where rows may be left out.
    * A plan for which `pick` gives a result is not searched further.
    */
  def below[A](key: Expression, plan: LogicalPlan)(
      pick: (Expression, LogicalPlan) => Option[A]
  ): Seq[A] = pick(key, plan).fold(losing(key, plan).flatMap { step =>
    below(step.key, plan.children(step.child))(pick)
  })(Seq(_))

  /** The plan with the plans that the key comes from replaced by `changed`, or the plan itself if
    * there are none.
    */
  def changedBelow(key: Expression, plan: LogicalPlan)(
      changed: (Expression, LogicalPlan) => Option[LogicalPlan]
  ): LogicalPlan = changed(key, plan).getOrElse {
    val children = losing(key, plan).foldLeft(plan.children) { (children, step) =>
      children.updated(step.child, changedBelow(step.key, children(step.child))(changed))
    }
    if (children.zip(plan.children).forall { case (a, b) => a eq b }) plan
    else plan.withNewChildren(children)
  }

  /** The steps down if rows below may be left out. Nil: they may not, or the origin of the key is
    * not known.
    */
  private def losing(key: Expression, plan: LogicalPlan): Seq[KeyBelow] = {
    val steps = step(key, plan)
    if (steps.forall(_.mayLose)) steps else Nil
  }

  /** Whether the node may raise an error for a group of which only some rows are left, as
    * `10 / count(*)` or a sum of BIGINT may. The join drops the group, but only after that.
    */
  private def mayRaiseForParts(plan: LogicalPlan): Boolean =
    // the pattern is known without a walk through the plan, but is also that of subqueries
    plan.containsPattern(AGGREGATE) && plan.exists(_.isInstanceOf[Aggregate]) && {
      val computed = mutable.Set.empty[ExprId]
      def isOfGroup(e: Expression): Boolean = e.exists {
        case _: AggregateExpression => true
        case a: Attribute           => computed(a.exprId)
        case _                      => false
      }
      plan.foreachUp {
        case union: Union =>
          union.children.foreach { child =>
            computed ++= union.output.zip(child.output).collect {
              case (above, below) if computed(below.exprId) => above.exprId
            }
          }
        case node =>
          computed ++= node.expressions.collect { case a: Alias if isOfGroup(a) => a.exprId }
      }
      plan.expressions.exists(e => isOfGroup(e) && mayRaise(e))
    }

  /** The arguments of an aggregate function do not count: they are computed for each row. */
  private def mayRaise(e: Expression): Boolean =
    raisesItself(e) || !e.isInstanceOf[AggregateFunction] && e.children.exists(mayRaise)

  private def raisesItself(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal | _: Alias | _: SortOrder | _: GetStructField       => false
    case _: BinaryComparison | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull      => false
    case _: In | _: InSet | _: Coalesce | _: If | _: CaseWhen | _: AggregateExpression => false
    case _: KnownNotNull | _: KnownFloatingPointNormalized                             => false
    case _: Min | _: Max | _: Count | _: First | _: Last | _: CentralMomentAgg         => false
    case sum: Sum         => SQLConf.get.ansiEnabled && mayOverflow(sum.child.dataType)
    case average: Average => SQLConf.get.ansiEnabled && isWide(average.child.dataType)
    case c: Cast          => c.dataType != DoubleType || !c.child.dataType.isInstanceOf[NumericType]
    case arithmetic @ (_: Add | _: Subtract | _: Multiply) =>
      !TypeSets.isFloating(arithmetic.dataType)
    case _ => true
  }

  /** Whether a sum may leave its type after fewer than ten billion rows. */
  private def mayOverflow(t: DataType): Boolean = t match {
    case LongType => true
    case _        => isWide(t)
  }

  private def isWide(t: DataType): Boolean = t match {
    case d: DecimalType => d.precision > DecimalType.MAX_PRECISION - 10
    case _: NumericType => false
    case _              => true
  }

  /** A key that comes from one side. Dropping a row of that side drops the rows that it is joined
    * into, all of which have its key. If the join preserves unmatched rows of the other side,
    * dropping a row may create new ones, so nothing may be dropped.
    *
    * A side that the join extends with NULLs does not supply all rows above it: in an unmatched row
    * of the other side every column of this side is NULL, and the key has its value over such a
    * row. If that value is NULL, as for a plain column, nothing is added; `coalesce(x, -1)` adds
    * -1. A key whose value over NULLs cannot be computed is not traced.
    */
  private def ofJoin(key: Expression, join: Join): Seq[KeyBelow] = {
    val ofLeft = key.references.subsetOf(join.left.outputSet)
    val ofRight = key.references.subsetOf(join.right.outputSet)
    val mayLose = join.joinType match {
      case _: InnerLike                    => ofLeft || ofRight
      case LeftOuter | LeftSemi | LeftAnti => ofLeft // depends on each row of the left side alone
      case RightOuter                      => ofRight
      case _                               => false
    }
    val isKnown = join.joinType match {
      case _: InnerLike | LeftOuter | RightOuter | FullOuter | LeftSemi | LeftAnti => true
      case _                                                                       => false
    }
    val isNullExtended = join.joinType match {
      case LeftOuter  => ofRight
      case RightOuter => ofLeft
      case FullOuter  => true
      case _          => false
    }
    // rand() in a condition would give other numbers to the rows after one that is missing
    val repeats = join.condition.forall(_.deterministic)
    if (!isKnown || ofLeft == ofRight) Nil
    else {
      val added = if (isNullExtended) valuesOverNulls(key) else Some(Nil)
      added.toSeq.map(KeyBelow(if (ofLeft) 0 else 1, key, mayLose && repeats, _))
    }
  }

  /** The value of a key in a row whose columns are all NULL; empty if it is NULL. None if it is not
    * known, because evaluation fails or because equal values of the type may differ.
    */
  private[tamis] def valuesOverNulls(key: Expression): Option[Seq[Any]] =
    Try(key.transform { case a: Attribute => Literal(null, a.dataType) }.eval()).toOption
      .map(Option(_).toSeq)
      .filter(values => values.isEmpty || TypeSets.areIdenticalIfEqual(key.dataType))

  /** The key over the child of a list of expressions; None if it does not depend on that child
    * alone.
    */
  private def replaced(key: Expression, list: Seq[Expression]): Option[Expression] = {
    val made = list.collect { case a: Alias => a.exprId -> a.child }.toMap
    val overChild = key.transform { case a: AttributeReference => made.getOrElse(a.exprId, a) }
    Some(overChild).filter(isKey)
  }

  /** Whether the key depends only on grouping columns whose equal values are identical. This does
    * not hold for -0.0 and 0.0, nor under collations.
    */
  private def isOfGroups(key: Expression, grouping: Seq[Expression]): Boolean = {
    val columns = grouping.collect {
      case a: Attribute if TypeSets.areIdenticalIfEqual(a.dataType) => a.exprId
    }.toSet
    key.references.forall(a => columns(a.exprId))
  }

  /** Whether the expression is a function of the columns of a row and of nothing else. */
  def isKey(e: Expression): Boolean =
    e.references.nonEmpty && !e.exists(part => !ExpressionWriter.isPlain(part))
}
