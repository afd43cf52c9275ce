package io.tamis.rules.goals

import io.tamis.listing.GroupNumbers
import io.tamis.runtime.HllMerged
import io.tamis.wire.{AggregateGoal, AnsweredGroup}
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
  * @param answers
  *   the groups with rows in the covered files, with one value per part
  * @param numbers
  *   the groups by partition columns; None: all rows have the same
  */
final class AggregateRewrite(
    wanted: StatisticsAggregate,
    answers: Seq[AnsweredGroup],
    numbers: Option[GroupNumbers]
) {
  import StatisticsAggregate.OfPartition

  private val aggregate = wanted.aggregate

  /** The plan if no file has to be read: constants, which Spark's optimizer turns into a local
    * relation.
    */
  def answered: LogicalPlan =
    if (wanted.isGlobal)
      Project(
        rewritten(Nil)(k => constant(wanted.parts(k), global(k))),
        LocalRelation(Nil, Seq(InternalRow.empty))
      )
    else if (wanted.sets.isEmpty) Project(rewritten(groups)(partials), rows)
    else combined(rows)

  /** The plan that combines the answers of statistics with the aggregate over the remaining files.
    */
  def withRest: LogicalPlan =
    if (wanted.isGlobal && !wanted.parts.exists(p => p.isSum || p.deviation.nonEmpty))
      globalWithRest
    else unionWithRest

  // ---- all rows are one group ----

  private val none: Seq[Any] = wanted.parts.map(_.ofNothing)
  private lazy val global: Seq[Any] = answers.headOption.fold(none)(_.values)

  /** The same aggregate over the remaining files, with a constant beside each of its functions.
    * COUNT of no rows is 0; MIN and MAX of no rows are NULL, which Least and Greatest skip; Least
    * and Greatest order values as Min and Max do.
    */
  private def globalWithRest: LogicalPlan = {
    val list = rewritten(Nil) { k =>
      val (part, value) = (wanted.parts(k), global(k))
      val rest = part.expression
      if (part.isCount) new Add(rest, Literal(value, LongType))
      else if (value == null) rest
      else {
        val both = Seq(rest, Literal(value, part.dataType))
        KnownNullable(if (part.kind == AggregateGoal.Min) Least(both) else Greatest(both))
      }
    }
    Aggregate(Nil, list, aggregate.child)
  }

  /** A constant with the nullability of the aggregate. */
  private def constant(part: AggregatePart, value: Any): Expression = {
    val literal = Literal(value, part.dataType)
    if (part.ofNothing != null) literal else KnownNullable(literal)
  }

  // ---- groups ----

  private lazy val groups: Seq[Attribute] = wanted.groups.map(_.attribute.newInstance())
  private lazy val partials: Seq[Attribute] =
    wanted.parts.map(p =>
      AttributeReference(p.kind.name, p.dataType, nullable = p.ofNothing == null)()
    )

  /** One row for every group that has rows in the covered files. A global aggregate has one. */
  private def rows: LogicalPlan = {
    val data =
      if (wanted.isGlobal) Seq(InternalRow.fromSeq(global))
      else answers.map(group => InternalRow.fromSeq(valuesOf(group) ++ group.values))
    LocalRelation(groups ++ partials, data)
  }

  /** The values of the grouping attributes, in their order. */
  private def valuesOf(group: AnsweredGroup): Seq[Any] = {
    val ofPartition = numbers.fold(Iterator.empty[Any])(_.values(group.number).iterator)
    val ofColumns = group.by.iterator
    wanted.groups.map { each =>
      each.source match {
        case _: OfPartition => ofPartition.next()
        case _              => ofColumns.next()
      }
    }
  }

  /** COUNT is the sum of the partial counts, SUM that of the partial sums, MIN and MAX are those of
    * the partial values, and registers are the greatest of the partial ones; a group that is on
    * either side is a group of the result. The planner has proven that no sum of partial sums
    * leaves the type of the sum.
    */
  private def unionWithRest: LogicalPlan = {
    val keys = wanted.groups.map(_.attribute)
    val functions = wanted.parts.map(p => Alias(p.expression, p.kind.name)())
    combined(Union(rows, Aggregate(keys, keys ++ functions, wanted.rows)))
  }

  /** Combines partial values. A group may have several of them. */
  private def combined(partialRows: LogicalPlan): LogicalPlan = {
    def list(grouped: Seq[Attribute]) = rewritten(grouped) { k =>
      val partial = partials(k)
      wanted.parts(k).kind match {
        case AggregateGoal.Min         => whole(Min(partial))
        case AggregateGoal.Max         => whole(Max(partial))
        case AggregateGoal.Count       => Coalesce(Seq(whole(new Sum(partial)), Literal(0L)))
        case AggregateGoal.Distinct(d) => whole(HllMerged(partial, d))
        case AggregateGoal.Sum         =>
          val sum = whole(new Sum(partial))
          // the sum of decimals has a wider type
          if (sum.dataType == partial.dataType) sum else Cast(sum, partial.dataType)
      }
    }
    wanted.sets match {
      case None       => Aggregate(groups, list(groups), partialRows)
      case Some(sets) =>
        val repeated = sets.output.map(_.newInstance())
        val rows = sets.over(partialRows, groups, repeated, partials)
        Aggregate(repeated, list(repeated), rows)
    }
  }

  private def whole(function: AggregateFunction): Expression = function.toAggregateExpression()

  // ---- the output ----

  /** The output of the aggregate, with other expressions in the place of its grouping attributes
    * and of the parts of its functions.
    */
  private def rewritten(
      grouped: Seq[Attribute]
  )(part: Int => Expression): Seq[NamedExpression] = {
    val grouping = wanted.sets.fold(wanted.groups.map(_.attribute))(_.output)
    val others = AttributeMap(grouping.zip(grouped))
    def other(e: Expression): Expression = e match {
      case f: AggregateExpression => wanted.valueOf(f, part)
      case a: Attribute           => others.getOrElse(a, a)
      case _                      => e.mapChildren(other)
    }
    aggregate.aggregateExpressions.map {
      case a: Attribute => Alias(other(a), a.name)(a.exprId, a.qualifier)
      case named        => named.mapChildren(other).asInstanceOf[NamedExpression]
    }
  }
}
