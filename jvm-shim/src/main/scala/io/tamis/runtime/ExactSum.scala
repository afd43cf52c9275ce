package io.tamis.runtime

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.types.{DataType, LongType, StructType}

/** The sums of the positive and of the negative values of LONG, and the number of values, in one
  * function with three numbers. Spark's own functions for these would keep twice as many.
  *
  * The result is a struct of `positive`, `negative` and `count`. A sum that leaves the range of
  * LONG is NULL. All its summands have the same sign, so this does not depend on their order.
  *
  * @param hasUnknown
  *   whether [[UnscaledLong.Unknown]] is not a value: it makes both sums NULL
  */
final case class ExactSum(child: Expression, hasUnknown: Boolean)
    extends DeclarativeAggregate
    with UnaryLike[Expression] {
  import SumStep.{Add, AddKnown, Merge}

  override def dataType: DataType = ExactSum.Result
  override def nullable: Boolean = false
  override def prettyName: String = "exact_sum"

  private lazy val positive = AttributeReference("positive", LongType, nullable = false)()
  private lazy val negative = AttributeReference("negative", LongType, nullable = false)()
  private lazy val count = AttributeReference("count", LongType, nullable = false)()

  override lazy val aggBufferAttributes: Seq[AttributeReference] = Seq(positive, negative, count)
  override lazy val initialValues: Seq[Expression] = Seq.fill(3)(Literal(0L))

  override lazy val updateExpressions: Seq[Expression] = {
    val step = if (hasUnknown) AddKnown else Add
    val changed = Seq(
      SumStep(positive, child, s"positive$step"),
      SumStep(negative, child, s"negative$step"),
      SumStep(count, Literal(1L), s"positive$Add")
    )
    if (!child.nullable) changed
    else changed.zip(aggBufferAttributes).map { case (e, buffer) => If(IsNull(child), buffer, e) }
  }

  override lazy val mergeExpressions: Seq[Expression] = Seq(
    SumStep(positive.left, positive.right, s"positive$Merge"),
    SumStep(negative.left, negative.right, s"negative$Merge"),
    SumStep(count.left, count.right, s"positive$Add")
  )

  override lazy val evaluateExpression: Expression = {
    val (zero, none) = (Literal(0L), Literal(null, LongType))
    val values = Seq(
      If(LessThan(positive, zero), none, positive),
      If(GreaterThan(negative, zero), none, negative),
      count
    )
    CreateNamedStruct(ExactSum.Result.fieldNames.toSeq.zip(values).flatMap { case (name, value) =>
      Seq(Literal(name), value)
    })
  }

  override protected def withNewChildInternal(newChild: Expression): ExactSum =
    copy(child = newChild)
}

object ExactSum {
  private val Result = new StructType()
    .add("positive", LongType)
    .add("negative", LongType)
    .add("count", LongType, nullable = false)
}

/** One step of an [[ExactSum]]. `left`: the sum so far, `right`: what is added to it.
  *
  * @param method
  *   of the object [[SumStep]]
  */
final case class SumStep(left: Expression, right: Expression, method: String)
    extends BinaryExpression {
  override def dataType: DataType = LongType
  override def nullable: Boolean = left.nullable || right.nullable

  override protected def nullSafeEval(sum: Any, value: Any): Any =
    SumStep.of(method)(sum.asInstanceOf[Long], value.asInstanceOf[Long])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    defineCodeGen(ctx, ev, (sum, value) => s"io.tamis.runtime.SumStep.$method($sum, $value)")

  override protected def withNewChildrenInternal(l: Expression, r: Expression): SumStep =
    copy(left = l, right = r)
}

/** A sum of positive values is at least 0, and one of negative values at most 0. Beyond the range
  * of LONG, the first is below 0 and the second above, and stays there.
  */
object SumStep {
  private[runtime] val Add = "Add"
  private[runtime] val AddKnown = "AddKnown"
  private[runtime] val Merge = "Merge"

  private val Beyond = 1L

  def positiveAdd(sum: Long, value: Long): Long =
    if (value <= 0 || sum < 0) sum
    else {
      // two numbers >= 0: beyond the range, their sum is negative
      val more = sum + value
      if (more < 0) -Beyond else more
    }

  def negativeAdd(sum: Long, value: Long): Long =
    if (value >= 0 || sum > 0) sum
    else {
      // a number <= 0 and one < 0: beyond the range, their sum is >= 0
      val more = sum + value
      if (more >= 0) Beyond else more
    }

  def positiveAddKnown(sum: Long, value: Long): Long =
    if (value == UnscaledLong.Unknown) -Beyond else positiveAdd(sum, value)

  def negativeAddKnown(sum: Long, value: Long): Long =
    if (value == UnscaledLong.Unknown) Beyond else negativeAdd(sum, value)

  def positiveMerge(sum: Long, other: Long): Long =
    if (other < 0) -Beyond else positiveAdd(sum, other)

  def negativeMerge(sum: Long, other: Long): Long =
    if (other > 0) Beyond else negativeAdd(sum, other)

  private def of(method: String): (Long, Long) => Long = method match {
    case "positiveAdd"      => positiveAdd
    case "negativeAdd"      => negativeAdd
    case "positiveAddKnown" => positiveAddKnown
    case "negativeAddKnown" => negativeAddKnown
    case "positiveMerge"    => positiveMerge
    case "negativeMerge"    => negativeMerge
  }
}
