package io.tamis.rules.goals

import io.tamis.wire.AggregateGoal
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  AggregateExpression,
  AggregateFunction,
  Max,
  Min,
  Sum
}
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  LocalRelation,
  LogicalPlan,
  Project,
  Union
}
import org.apache.spark.sql.types.LongType

/** Puts the answers of statistics into the plan of an aggregate. Ids, names, types and nullability
  * of its output stay the same.
  *
  * Constructors are called with all arguments: those of Aggregate, Union, Project and LocalRelation
  * are the same on 4.0 to 4.3, and so are `new Add` and `new Sum` without an evaluation mode.
  *
  * @param found
  *   group number -> one value per function
  * @param numbers
  *   the groups; None: all rows are one group
  */
final class AggregateRewrite(
    wanted: StatisticsAggregate,
    answers: Map[Int, Seq[Any]],
    numbers: Option[GroupNumbers]
) {
  import StatisticsAggregate.Function

  private val aggregate = wanted.aggregate

  /** The plan if no file has to be read: constants, which Spark's optimizer turns into a local
    * relation.
    */
  def answered: LogicalPlan =
    if (wanted.isGlobal)
      Project(
        rewritten(Nil)(k => constant(wanted.functions(k), global(k))),
        LocalRelation(Nil, Seq(InternalRow.empty))
      )
    else Project(rewritten(groups)(partials), rows)

  /** The plan that combines the answers of statistics with the aggregate over the remaining files.
    */
  def withRest: LogicalPlan = if (wanted.isGlobal) globalWithRest else groupedWithRest

  // ---- all rows are one group ----

  private val none: Seq[Any] = wanted.functions.map(f => if (f.isCount) 0L else null)
  private lazy val global: Seq[Any] = answers.getOrElse(0, none)

  /** The same aggregate over the remaining files, with a constant beside each of its functions.
    * COUNT of no rows is 0; MIN and MAX of no rows are NULL, which Least and Greatest skip; Least
    * and Greatest order values as Min and Max do.
    */
  private def globalWithRest: LogicalPlan = {
    val list = rewritten(Nil) { k =>
      val (function, value) = (wanted.functions(k), global(k))
      val rest = function.expression
      if (function.isCount) new Add(rest, Literal(value, LongType))
      else if (value == null) rest
      else {
        val both = Seq(rest, constant(function, value))
        KnownNullable(if (function.kind == AggregateGoal.Min) Least(both) else Greatest(both))
      }
    }
    Aggregate(Nil, list, aggregate.child)
  }

  /** A constant with the nullability of the function. */
  private def constant(function: Function, value: Any): Expression = {
    val literal = Literal(value, function.dataType)
    if (function.isCount) literal else KnownNullable(literal)
  }

  // ---- groups ----

  private lazy val groups: Seq[Attribute] = wanted.groups.map(_._1.newInstance())
  private lazy val partials: Seq[Attribute] =
    wanted.functions.map(f => AttributeReference(f.kind.name, f.dataType, nullable = !f.isCount)())

  /** One row for every group that has rows in the covered files. */
  private def rows: LogicalPlan = {
    val values = numbers.fold(Seq.empty[Seq[Any]])(_.values)
    val data = answers.toSeq.sortBy(_._1).map { case (number, partial) =>
      InternalRow.fromSeq(values(number) ++ partial)
    }
    LocalRelation(groups ++ partials, data)
  }

  /** COUNT is the sum of the partial counts, MIN and MAX are those of the partial values; a group
    * that is on either side is a group of the result.
    */
  private def groupedWithRest: LogicalPlan = {
    val rest = Aggregate(
      aggregate.groupingExpressions,
      wanted.groups.map(_._1) ++ wanted.functions.map(f => Alias(f.expression, f.kind.name)()),
      aggregate.child
    )
    val list = rewritten(groups) { k =>
      val partial = partials(k)
      wanted.functions(k).kind match {
        case AggregateGoal.Min   => whole(Min(partial))
        case AggregateGoal.Max   => whole(Max(partial))
        case AggregateGoal.Count => Coalesce(Seq(whole(new Sum(partial)), Literal(0L)))
      }
    }
    Aggregate(groups, list, Union(rows, rest))
  }

  private def whole(function: AggregateFunction): Expression = function.toAggregateExpression()

  // ---- the output ----

  /** The output of the aggregate, with other expressions in the place of its functions and of its
    * grouping attributes.
    */
  private def rewritten(
      grouped: Seq[Attribute]
  )(function: Int => Expression): Seq[NamedExpression] = {
    val others = AttributeMap(wanted.groups.map(_._1).zip(grouped))
    def other(e: Expression): Expression = e match {
      case f: AggregateExpression => function(wanted.ordinalOf(f))
      case a: Attribute           => others.getOrElse(a, a)
      case _                      => e.mapChildren(other)
    }
    aggregate.aggregateExpressions.map {
      case a: Attribute => Alias(other(a), a.name)(a.exprId, a.qualifier)
      case named        => named.mapChildren(other).asInstanceOf[NamedExpression]
    }
  }
}
