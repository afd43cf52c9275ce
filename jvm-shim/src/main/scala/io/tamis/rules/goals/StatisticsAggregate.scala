package io.tamis.rules.goals

import io.tamis.listing.Listing
import io.tamis.planning.Question
import io.tamis.wire.{AggregateGoal, ExpressionWriter, TypeSets}
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  Expression,
  Literal
}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.types.DataType

/** An aggregate over a scan that statistics may answer: COUNT, MIN and MAX, each over a column or
  * over rows, for the whole table or grouped by partition columns.
  *
  * @param functions
  *   the distinct aggregate functions, in the order of their first occurrence
  * @param groups
  *   the grouping attributes, with their ordinals in the partition schema
  */
final case class StatisticsAggregate(
    aggregate: Aggregate,
    scan: ScanBelow,
    functions: Seq[StatisticsAggregate.Function],
    groups: Seq[(Attribute, Int)]
) {
  def isGlobal: Boolean = groups.isEmpty

  /** The aggregate as users write it. */
  def text: String = {
    val by = groups.map(_._1.name).mkString(", ")
    val what = functions.map(f => ExpressionWriter.sqlOf(f.expression)).mkString(", ")
    if (functions.isEmpty) s"DISTINCT $by" else if (isGlobal) what else s"$what BY $by"
  }

  /** The index of this function in `functions`. */
  def ordinalOf(e: AggregateExpression): Int =
    functions.indexWhere(_.expression.aggregateFunction.semanticEquals(e.aggregateFunction))

  def goal(numbers: Option[GroupNumbers]): AggregateGoal = {
    val writer = Question.writer(scan.table)
    AggregateGoal(
      functions.map(f => AggregateGoal.Function(f.kind, f.argument.map(writer.write))),
      numbers.map(_.ofDirectories)
    )
  }

  /** Assigns the directories of a listing to groups of rows. */
  def numbersIn(listing: Listing): GroupNumbers = {
    val types = groups.map { case (_, i) => i -> listing.partitionSchema(i).dataType }
    val values = listing.groups.toSeq.map(g => types.map { case (i, t) => g.values.get(i, t) })
    val distinct = values.distinct
    val numbers = distinct.zipWithIndex.toMap
    GroupNumbers(values.map(numbers), distinct)
  }
}

/** The groups of rows in a listing.
  *
  * @param ofDirectories
  *   for each group of the listing (a directory), the number of its group of rows: several
  *   directories may have the same partition values
  * @param values
  *   by that number, the values of the grouping attributes
  */
final case class GroupNumbers(ofDirectories: Seq[Int], values: Seq[Seq[Any]])

object StatisticsAggregate {

  /** One aggregate function.
    *
    * @param argument
    *   over the attributes of the relation; None: it counts rows
    */
  final case class Function(
      expression: AggregateExpression,
      kind: AggregateGoal.Kind,
      argument: Option[Expression]
  ) {
    def isCount: Boolean = kind == AggregateGoal.Count
    def dataType: DataType = expression.dataType
  }

  def unapply(plan: LogicalPlan): Option[StatisticsAggregate] = plan match {
    case aggregate: Aggregate =>
      aggregate.child match {
        case ScanBelow(scan) if scan.table.purpose.goals.isEmpty => over(aggregate, scan)
        case _                                                   => None
      }
    case _ => None
  }

  private def over(aggregate: Aggregate, scan: ScanBelow): Option[StatisticsAggregate] = {
    val expressions = aggregate.aggregateExpressions.flatMap(_.collect {
      case e: AggregateExpression => e
    })
    val functions = expressions.map(functionOf(_, scan))
    val groups = aggregate.groupingExpressions.map(groupOf(_, scan))
    // DISTINCT of partition columns has no function, and needs only the groups that have rows
    val isEmpty = functions.isEmpty && groups.isEmpty
    if (isEmpty || functions.exists(_.isEmpty) || groups.exists(_.isEmpty)) None
    else Some(StatisticsAggregate(aggregate, scan, distinct(functions.flatten), groups.flatten))
  }

  private def distinct(functions: Seq[Function]): Seq[Function] =
    functions.foldLeft(Seq.empty[Function]) { (unique, f) =>
      def same(g: Function) =
        g.expression.aggregateFunction.semanticEquals(f.expression.aggregateFunction)
      if (unique.exists(same)) unique else unique :+ f
    }

  private def functionOf(e: AggregateExpression, scan: ScanBelow): Option[Function] =
    if (e.isDistinct || e.filter.nonEmpty || e.mode != Complete) None
    else {
      def over(argument: Expression, kind: AggregateGoal.Kind) =
        columnOf(argument, scan).map(a => Function(e, kind, Some(a)))
      e.aggregateFunction match {
        case c: Count if c.children.size == 1 =>
          c.children.head match {
            case Literal(null, _) => None
            case _: Literal       => Some(Function(e, AggregateGoal.Count, None))
            case argument         => over(argument, AggregateGoal.Count)
          }
        case m: Min => over(m.child, AggregateGoal.Min)
        case m: Max => over(m.child, AggregateGoal.Max)
        case _      => None
      }
    }

  /** A column or field exactly as in the file. A CHAR column that Spark pads is an expression over
    * one, and does not match.
    */
  private def columnOf(e: Expression, scan: ScanBelow): Option[Expression] =
    Some(scan.atScan(e)).filter {
      case column @ ExpressionWriter.ColumnPath(_) => TypeSets.isOrderedInPython(column.dataType)
      case _                                       => false
    }

  /** A partition column whose values in two directories are equal to Spark exactly if they are
    * equal in Scala.
    */
  private def groupOf(e: Expression, scan: ScanBelow): Option[(Attribute, Int)] = e match {
    case attribute: Attribute =>
      scan.atScan(attribute) match {
        case column: AttributeReference =>
          val schema = scan.table.relation.partitionSchema
          val ordinal = schema.fieldNames.indexOf(column.name)
          val isGroup = ordinal >= 0 && TypeSets.areEqualAsInScala(column.dataType)
          Option.when(isGroup)(attribute -> ordinal)
        case _ => None
      }
    case _ => None
  }
}
