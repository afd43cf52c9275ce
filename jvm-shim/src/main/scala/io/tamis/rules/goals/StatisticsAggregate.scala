package io.tamis.rules.goals

import io.tamis.listing.{GroupNumbers, Listing}
import io.tamis.planning.Question
import io.tamis.wire.{AggregateGoal, ExpressionWriter, SampleGoal, TypeSets}
import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.DecimalAggregates
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DecimalType

/** An aggregate over a scan that statistics may answer, for all rows or grouped by columns.
  *
  * @param original
  *   the aggregate as it is in the plan
  * @param aggregate
  *   the same, with decimals added up as Spark does
  * @param functions
  *   the distinct aggregate functions, in the order of their first occurrence
  * @param groups
  *   the columns by which rows are grouped; of grouping sets, those of all sets
  */
final case class StatisticsAggregate(
    original: Aggregate,
    aggregate: Aggregate,
    scan: ScanBelow,
    functions: Seq[AnswerableFunction],
    groups: Seq[StatisticsAggregate.Group],
    sets: Option[GroupingSets] = None
) {
  import StatisticsAggregate._

  def isGlobal: Boolean = groups.isEmpty

  /** The plan whose rows are grouped. */
  def rows: LogicalPlan = sets.fold(aggregate.child)(_.child)

  /** The distinct parts of the functions. */
  val parts: Seq[AggregatePart] = functions.flatMap(_.parts).foldLeft(Seq.empty[AggregatePart]) {
    (unique, part) => if (unique.exists(_.isSameAs(part))) unique else unique :+ part
  }

  /** Whether bounds and numbers of rows may answer it, without recorded aggregates. */
  def isOfStatistics: Boolean = columns.isEmpty && parts.forall { part =>
    !part.isSum && part.deviation.isEmpty && part.argument.forall(
      ExpressionWriter.ColumnPath.unapply(_).nonEmpty
    )
  }

  /** The ordinals of the grouping attributes that are partition columns. */
  val partitions: Seq[Int] = groups.collect { case Group(_, OfPartition(ordinal)) => ordinal }

  /** The other grouping attributes, over the attributes of the relation. */
  val columns: Seq[Expression] = groups.collect { case Group(_, OfColumn(column)) => column }

  /** The aggregate as users write it. */
  def text: String = {
    val by = sets.fold(groups.map(_.attribute.name).mkString(", "))(_.text)
    val what = distinct(callsIn(original)).map(ExpressionWriter.sqlOf).mkString(", ")
    if (functions.isEmpty) s"DISTINCT $by" else if (isGlobal) what else s"$what BY $by"
  }

  /** The value of a function, from one expression per part. */
  def valueOf(e: AggregateExpression, part: Int => Expression): Expression = {
    val function = functions
      .find(f => AnswerableFunction.areSame(f.expression, e))
      .getOrElse(throw new NoSuchElementException(e.toString))
    function.whole(function.parts.map(p => part(parts.indexWhere(_.isSameAs(p)))))
  }

  def goal(numbers: Option[GroupNumbers], sample: Option[SampleGoal]): AggregateGoal = {
    val writer = Question.writer(scan.table)
    AggregateGoal(
      parts.map { p =>
        val (argument, filter) = (p.argument.map(writer.write), p.filter.map(writer.write))
        val sketch = p.deviation.map(AggregateGoal.Sketch(_, SPARK_VERSION))
        AggregateGoal.Function(p.kind, argument, filter, p.limit.map(_.toString), sketch)
      },
      numbers.map(_.ofDirectories),
      columns.map(writer.write),
      sample
    )
  }

  /** Assigns the directories of a listing to groups of rows; None if it does not matter. */
  def numbersIn(listing: Listing): Option[GroupNumbers] = Option.when(partitions.nonEmpty) {
    GroupNumbers.of(listing, partitions, listing.groups.indices)
  }
}

object StatisticsAggregate {

  /** A grouping attribute. */
  final case class Group(attribute: Attribute, source: Source)

  sealed trait Source

  /** A partition column, by its ordinal in the partition schema. */
  final case class OfPartition(ordinal: Int) extends Source

  /** A column or field exactly as in the file. */
  final case class OfColumn(column: Expression) extends Source

  def unapply(plan: LogicalPlan): Option[StatisticsAggregate] = plan match {
    case aggregate: Aggregate =>
      val sets = GroupingSets.unapply(aggregate)
      sets.fold(aggregate.child)(_.child) match {
        case ScanBelow(scan) if scan.table.purpose.goals.isEmpty => over(aggregate, scan, sets)
        case _                                                   => None
      }
    case _ => None
  }

  private def over(
      original: Aggregate,
      scan: ScanBelow,
      sets: Option[GroupingSets]
  ): Option[StatisticsAggregate] = {
    val aggregate = withUnscaledSums(original)
    val calls = distinct(callsIn(aggregate))
    val functions = calls.map(AnswerableFunction.of(_, scan))
    val groups = sets.fold(aggregate.groupingExpressions)(_.keys).map(groupOf(_, scan))
    // DISTINCT of columns has no function, and needs only the groups that have rows
    val isEmpty = functions.isEmpty && groups.isEmpty
    if (isEmpty || functions.exists(_.isEmpty) || groups.exists(_.isEmpty)) None
    else
      Some(StatisticsAggregate(original, aggregate, scan, functions.flatten, groups.flatten, sets))
  }

  private def callsIn(aggregate: Aggregate): Seq[AggregateExpression] =
    aggregate.aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e })

  private def distinct(calls: Seq[AggregateExpression]): Seq[AggregateExpression] =
    calls.foldLeft(Seq.empty[AggregateExpression]) { (unique, e) =>
      if (unique.exists(AnswerableFunction.areSame(_, e))) unique else unique :+ e
    }

  /** Applies Spark's rule that adds up short decimals as whole numbers, and averages them as
    * doubles. It runs after the rules of tamis, and it decides the type of the sum and thus where
    * an average is rounded. Nothing if the session excludes it.
    */
  private def withUnscaledSums(aggregate: Aggregate): Aggregate = {
    val addsDecimals = callsIn(aggregate).map(_.aggregateFunction).exists {
      case s: Sum     => s.child.dataType.isInstanceOf[DecimalType]
      case a: Average => a.child.dataType.isInstanceOf[DecimalType]
      case _          => false
    }
    val excluded = SQLConf.get.optimizerExcludedRules.toSeq.flatMap(_.split(',')).map(_.trim)
    if (!addsDecimals || excluded.contains(DecimalAggregates.ruleName)) aggregate
    else
      DecimalAggregates(aggregate) match {
        case rewritten: Aggregate => rewritten
        case _                    => aggregate
      }
  }

  /** A column whose values in two groups are equal to Spark exactly if they are identical. */
  private def groupOf(e: Expression, scan: ScanBelow): Option[Group] = e match {
    case attribute: Attribute =>
      val schema = scan.table.relation.partitionSchema
      scan.atScan(attribute) match {
        case column: AttributeReference if schema.fieldNames.contains(column.name) =>
          Option.when(TypeSets.areEqualAsInScala(column.dataType))(
            Group(attribute, OfPartition(schema.fieldIndex(column.name)))
          )
        case column @ ExpressionWriter.ColumnPath(_) =>
          Option.when(TypeSets.areIdenticalIfEqual(column.dataType))(
            Group(attribute, OfColumn(column))
          )
        case _ => None
      }
    case _ => None
  }
}
