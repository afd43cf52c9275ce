package io.tamis.rules.goals

import io.tamis.rules.filters.PlainConjuncts
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Expand, Filter, LogicalPlan}

/** The grouping sets of an aggregate with ROLLUP, CUBE or GROUPING SETS. Spark puts an Expand below
  * it, which repeats each row once for each set. A column that is not in the set is then NULL, and
  * the number of the set, a grouping attribute as well, tells this NULL from one of the column.
  *
  * All copies of rows with the same values of all columns belong to the same groups. So the rows
  * can be aggregated by all columns first: their aggregates are then repeated, and combined.
  *
  * HAVING over the columns, or over grouping(), is a Filter over the Expand. It has the same value
  * for all rows of a group, so the repeated aggregates are filtered in the place of the rows.
  *
  * @param child
  *   the plan below the Expand
  * @param keys
  *   the columns of all sets, attributes of `child`
  * @param output
  *   the grouping attributes of the aggregate
  * @param sets
  *   for each set, the value of each attribute of `output`: a key or a constant
  * @param having
  *   a condition over `output`, which the rows of a group of the result pass
  */
final case class GroupingSets(
    child: LogicalPlan,
    keys: Seq[Attribute],
    output: Seq[Attribute],
    sets: Seq[Seq[Expression]],
    having: Option[Expression] = None
) {

  /** Repeats the rows of another plan for each set, without those that `having` leaves out.
    *
    * @param plan
    *   its output: `values`, in the order of `keys`, and `others`
    * @param output
    *   the grouping attributes of the result, in the order of those of the aggregate
    */
  def over(
      plan: LogicalPlan,
      values: Seq[Attribute],
      output: Seq[Attribute],
      others: Seq[Attribute]
  ): LogicalPlan = {
    val valueOf = AttributeMap(keys.zip(values))
    val repeated = sets.map(_.map {
      case key: Attribute => valueOf(key)
      case constant       => constant
    })
    val whole = Expand(repeated.map(_ ++ others), output ++ others, plan)
    val renamed = AttributeMap(this.output.zip(output))
    having.fold[LogicalPlan](whole) { condition =>
      Filter(condition.transform { case a: Attribute => renamed(a) }, whole)
    }
  }

  def text: String = sets
    .map(_.collect { case key: Attribute => key.name }.mkString("(", ", ", ")"))
    .mkString("GROUPING SETS (", ", ", ")")
}

object GroupingSets {

  /** None: the aggregate has none, or computes something else from the repeated rows. */
  def unapply(aggregate: Aggregate): Option[GroupingSets] = aggregate.child match {
    case expand: Expand            => of(aggregate, expand)
    case Filter(c, expand: Expand) =>
      of(aggregate, expand)
        .filter(sets =>
          PlainConjuncts.isPlain(c) && c.references.subsetOf(AttributeSet(sets.output))
        )
        .map(_.copy(having = Some(c)))
    case _ => None
  }

  private def of(aggregate: Aggregate, expand: Expand): Option[GroupingSets] = {
    val places = aggregate.groupingExpressions.map {
      case a: Attribute => expand.output.indexWhere(_.exprId == a.exprId)
      case _            => -1
    }
    // a place that is not found has no value
    val sets = expand.projections.map(p => places.flatMap(p.lift))
    val areKnown = sets.forall(_.forall(isKeyOrConstant)) && sets.forall(_.size == places.size)
    val keys = sets.flatten.collect { case key: Attribute => key }
    // without a key, rows would be aggregated to one row even if there are none
    Option.when(areKnown && keys.nonEmpty && computesFromRows(aggregate, expand)) {
      val distinct = AttributeSet(keys).toSeq
      GroupingSets(expand.child, distinct, places.map(expand.output), sets)
    }
  }

  private def isKeyOrConstant(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal => true
    case _                         => false
  }

  /** Whether its functions are of values that are the same in all copies of a row. */
  private def computesFromRows(aggregate: Aggregate, expand: Expand): Boolean = {
    val unchanged = AttributeSet(expand.output.zipWithIndex.collect {
      case (a, i) if expand.projections.forall(p => isSame(p(i), a)) => a
    })
    aggregate.aggregateExpressions.forall(_.collect { case f: AggregateExpression =>
      f.references.subsetOf(unchanged)
    }.forall(identity))
  }

  private def isSame(e: Expression, attribute: Attribute): Boolean = e match {
    case a: Attribute => a.exprId == attribute.exprId
    case _            => false
  }
}
