package io.tamis.rules.goals

import io.tamis.remote.ExecutorJar
import io.tamis.rules.filters.PlainConjuncts
import io.tamis.runtime.{HllEstimate, HllOfValues}
import io.tamis.wire.{AggregateGoal, ExpressionWriter, TypeSets}
import org.apache.spark.sql.catalyst.expressions.{
  AttributeReference,
  Cast,
  Expression,
  KnownNullable,
  Literal,
  UnscaledValue
}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types._

/** An aggregate that statistics may answer, and that can be combined from disjoint sets of rows.
  *
  * @param expression
  *   over the attributes of the aggregate's child
  * @param argument
  *   over the attributes of the relation; None: it counts rows. For a sum of unscaled values, the
  *   decimal itself.
  * @param filter
  *   of FILTER (WHERE …), over the attributes of the relation
  * @param limit
  *   of a sum: see AggregateGoal.Function
  */
final case class AggregatePart(
    expression: AggregateExpression,
    kind: AggregateGoal.Kind,
    argument: Option[Expression],
    filter: Option[Expression] = None,
    limit: Option[BigInt] = None
) {
  def isCount: Boolean = kind == AggregateGoal.Count
  def isSum: Boolean = kind == AggregateGoal.Sum

  /** The relative standard deviation of registers; None: it has another kind. */
  def deviation: Option[Double] = kind match {
    case AggregateGoal.Distinct(d) => Some(d)
    case _                         => None
  }

  /** The value for no row; null is NULL. */
  def ofNothing: Any = if (isCount) 0L else if (deviation.nonEmpty) Array.empty[Byte] else null
  def dataType: DataType = expression.dataType
  def isSameAs(other: AggregatePart): Boolean =
    AnswerableFunction.areSame(expression, other.expression)
}

/** An aggregate function, and how its value follows from its parts.
  *
  * @param whole
  *   the value, from one expression per part
  */
final case class AnswerableFunction(
    expression: AggregateExpression,
    parts: Seq[AggregatePart],
    whole: Seq[Expression] => Expression
)

object AnswerableFunction {

  /** Whether two calls have the same value for all groups. */
  def areSame(one: AggregateExpression, other: AggregateExpression): Boolean =
    one.isDistinct == other.isDistinct && one.filter.size == other.filter.size &&
      one.filter.zip(other.filter).forall { case (a, b) => a.semanticEquals(b) } &&
      one.aggregateFunction.semanticEquals(other.aggregateFunction)

  /** The function over a scan; None if statistics never answer it. */
  def of(e: AggregateExpression, scan: ScanBelow): Option[AnswerableFunction] =
    if (e.isDistinct || !e.filter.forall(PlainConjuncts.isPlain) || e.mode != Complete) None
    else {
      val arguments = new Arguments(scan)
      def one(kind: AggregateGoal.Kind, argument: Expression) =
        arguments
          .of(argument)
          .map(a => single(AggregatePart(e, kind, Some(a), arguments.filter(e))))
      def single(part: AggregatePart) = AnswerableFunction(e, Seq(part), _.head)
      e.aggregateFunction match {
        case c: Count if c.children.size == 1 =>
          c.children.head match {
            case Literal(null, _) => None
            case _: Literal       =>
              Some(single(AggregatePart(e, AggregateGoal.Count, None, arguments.filter(e))))
            case argument => one(AggregateGoal.Count, argument)
          }
        case m: Min                                        => one(AggregateGoal.Min, m.child)
        case m: Max                                        => one(AggregateGoal.Max, m.child)
        case s: Sum                                        => sum(e, s.child, arguments).map(single)
        case a: Average                                    => average(e, a, arguments)
        case h: HyperLogLogPlusPlus if isOnExecutors(scan) =>
          arguments.of(h.child).map(distinct(e, h, _, arguments.filter(e)))
        case _ => None
      }
    }

  /** The sum of whole numbers or decimals. Spark's buffer has the type of the result (4.0 to 4.3),
    * so no partial sum overflows if all are within that type.
    */
  private def sum(
      e: AggregateExpression,
      child: Expression,
      arguments: Arguments
  ): Option[AggregatePart] = {
    val limit = e.dataType match {
      case LongType       => Some(BigInt(2).pow(63))
      case d: DecimalType => Some(BigInt(10).pow(d.precision))
      // integers up to this magnitude are exact, and so is each sum of two that is one of them
      case DoubleType => Some(BigInt(2).pow(53))
      case _          => None
    }
    for {
      most <- limit
      argument <- arguments.of(exact(child)) if isExact(argument.dataType)
    } yield AggregatePart(
      e,
      AggregateGoal.Sum,
      Some(argument),
      arguments.filter(e),
      Some(most)
    )
  }

  /** What is added up: the decimal of an unscaled value, the whole number of a double. */
  private def exact(summand: Expression): Expression = summand match {
    case UnscaledValue(decimal)                                                    => decimal
    case c: Cast if c.dataType == DoubleType && TypeSets.isWhole(c.child.dataType) => exact(c.child)
    case other                                                                     => other
  }

  private def isExact(t: DataType): Boolean = TypeSets.isWhole(t) || t.isInstanceOf[DecimalType]

  /** Spark keeps a sum and a count, and computes the average from both (4.0 to 4.3): so does this,
    * with the same expression. The sum of whole numbers is a double.
    */
  private def average(
      e: AggregateExpression,
      a: Average,
      arguments: Arguments
  ): Option[AnswerableFunction] = {
    val (sumOfSpark, countOfSpark) = (a.aggBufferAttributes.head, a.aggBufferAttributes(1))
    val summand = sumOfSpark.dataType match {
      // `sum` accepts the double only if it is a whole number
      case DoubleType if a.child.dataType == DoubleType => Some(a.child)
      case DoubleType                                   => Some(Cast(a.child, DoubleType))
      case d: DecimalType                               =>
        Some(a.child).filter(c => new Sum(c).dataType == d)
      case _ => None
    }
    for {
      value <- summand
      total <- sum(partOf(e, new Sum(value)), value, arguments)
      argument <- total.argument
    } yield {
      val counted = partOf(e, Count(a.child))
      val count = AggregatePart(counted, AggregateGoal.Count, Some(argument), total.filter)
      AnswerableFunction(
        e,
        Seq(total, count),
        parts =>
          KnownNullable(a.evaluateExpression.transform {
            case buffer: AttributeReference if buffer.exprId == sumOfSpark.exprId   => parts.head
            case buffer: AttributeReference if buffer.exprId == countOfSpark.exprId => parts(1)
          })
      )
    }
  }

  private def isOnExecutors(scan: ScanBelow): Boolean =
    ExecutorJar.isThere(scan.table.relation.sparkSession.sparkContext)

  /** Spark keeps registers, and estimates the number of distinct values from them. */
  private def distinct(
      e: AggregateExpression,
      h: HyperLogLogPlusPlus,
      argument: Expression,
      filter: Option[Expression]
  ): AnswerableFunction = {
    val kind = AggregateGoal.Distinct(h.relativeSD)
    val registers = partOf(e, HllOfValues(h.child, h.relativeSD))
    AnswerableFunction(
      e,
      Seq(AggregatePart(registers, kind, Some(argument), filter)),
      parts => HllEstimate(parts.head, h.relativeSD)
    )
  }

  /** A function over the rows that another one aggregates. */
  private def partOf(e: AggregateExpression, function: AggregateFunction): AggregateExpression =
    function.toAggregateExpression(isDistinct = false, e.filter)

  /** The arguments of aggregates over a scan that the planner may know. */
  private final class Arguments(scan: ScanBelow) {
    private lazy val writer = io.tamis.planning.Question.writer(scan.table)

    def filter(e: AggregateExpression): Option[Expression] = e.filter.map(scan.atScan)

    /** A column or field exactly as in the file, or an expression that an index may have recorded.
      * A CHAR column that Spark pads is an expression over one.
      */
    def of(e: Expression): Option[Expression] =
      Some(scan.atScan(e)).filter { at =>
        TypeSets.isOrderedInPython(at.dataType) && (at match {
          case ExpressionWriter.ColumnPath(_) => true
          case other                          => writer.write(other).has("k")
        })
      }
  }
}
