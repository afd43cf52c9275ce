package io.tamis.rules

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

/** Puts what statistics answer into the plan of an aggregate. Ids, names, types and nullability of
  * its output stay as they were.
  *
  * Constructors with all arguments: those of Aggregate, Union, Project and LocalRelation are the
  * same on 4.0 to 4.3; `new Add` and `new Sum` without an evaluation mode as well.
  *
  * @param found
  *   by number of the group, a value for every function
  * @param numbers
  *   the groups; None: all rows are one
  */
final class AggregateRewrite(
    wanted: StatisticsAggregate,
    found: Map[Int, Seq[Any]],
    numbers: Option[GroupNumbers]
) {
  import StatisticsAggregate.Function

  private val aggregate = wanted.aggregate

  /** No file is left: constants, which Spark's optimizer turns into a local relation. */
  def answered: LogicalPlan =
    if (wanted.isGlobal)
      Project(
        rewritten(Nil)(k => constant(wanted.functions(k), global(k))),
        LocalRelation(Nil, Seq(InternalRow.empty))
      )
    else Project(rewritten(groups)(partials), rows)

  /** What statistics answer together with the aggregate over the files that are left. */
  def withRest: LogicalPlan = if (wanted.isGlobal) globalWithRest else groupedWithRest

  // ---- all rows are one group ----

  private val none: Seq[Any] = wanted.functions.map(f => if (f.isCount) 0L else null)
  private lazy val global: Seq[Any] = found.getOrElse(0, none)

  /** The same aggregate over what is left, and a constant beside each of its functions. COUNT of no
    * rows is 0, MIN and MAX of none NULL, which Least and Greatest skip; they order as Min and Max.
    */
  private def globalWithRest: LogicalPlan = {
    val list = rewritten(Nil) { k =>
      val (function, value) = (wanted.functions(k), global(k))
      val rest = function.expression
      if (function.isCount) new Add(rest, Literal(value, LongType))
      else if (value == null) rest
      else {
        val both = Seq(rest, constant(function, value))
        KnownNullable(if (function.name == "min") Least(both) else Greatest(both))
      }
    }
    Aggregate(Nil, list, aggregate.child)
  }

  /** Of the nullability of the function. */
  private def constant(function: Function, value: Any): Expression = {
    val literal = Literal(value, function.dataType)
    if (function.isCount) literal else KnownNullable(literal)
  }

  // ---- groups ----

  private lazy val groups: Seq[Attribute] = wanted.groups.map(_._1.newInstance())
  private lazy val partials: Seq[Attribute] =
    wanted.functions.map(f => AttributeReference(f.name, f.dataType, nullable = !f.isCount)())

  /** A row for every group that has rows in the covered files. */
  private def rows: LogicalPlan = {
    val values = numbers.fold(Seq.empty[Seq[Any]])(_.values)
    val data = found.toSeq.sortBy(_._1).map { case (number, partial) =>
      InternalRow.fromSeq(values(number) ++ partial)
    }
    LocalRelation(groups ++ partials, data)
  }

  /** COUNT is the sum of counts, MIN and MAX those of them; a group of either side is a group. */
  private def groupedWithRest: LogicalPlan = {
    val rest = Aggregate(
      aggregate.groupingExpressions,
      wanted.groups.map(_._1) ++ wanted.functions.map(f => Alias(f.expression, f.name)()),
      aggregate.child
    )
    val list = rewritten(groups) { k =>
      val partial = partials(k)
      wanted.functions(k).name match {
        case "min" => whole(Min(partial))
        case "max" => whole(Max(partial))
        case _     => Coalesce(Seq(whole(new Sum(partial)), Literal(0L)))
      }
    }
    Aggregate(groups, list, Union(rows, rest))
  }

  private def whole(function: AggregateFunction): Expression = function.toAggregateExpression()

  // ---- the output ----

  /** The output of the aggregate with other expressions in the place of its functions and of its
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
