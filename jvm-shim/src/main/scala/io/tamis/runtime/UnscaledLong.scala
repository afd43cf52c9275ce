package io.tamis.runtime

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{Block, CodegenContext, ExprCode, JavaCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{BooleanType, DataType, Decimal, DecimalType, LongType}

/** The unscaled value of a decimal: 1.50 as DECIMAL(20, 2) is 150. NULL if the decimal is NULL.
  * [[UnscaledLong.Unknown]] if the unscaled value does not fit a LONG, or may not: the caller has
  * to compute the decimal then.
  *
  * Sums, differences and products of decimals are computed as whole numbers, without a decimal for
  * each of them, where these are exact and none of them overflows.
  *
  * A ConditionalExpression, because Spark would otherwise compute the decimals that several of
  * these have in common, once in each row, although the code of this expression does not need them.
  */
final case class UnscaledLong(child: Expression)
    extends UnaryExpression
    with ConditionalExpression {
  override def dataType: DataType = LongType
  override def nullable: Boolean = child.nullable
  override def prettyName: String = "unscaled_long"

  override protected def nullSafeEval(input: Any): Any =
    UnscaledLong.of(input.asInstanceOf[Decimal], UnscaledLong.scaleOf(child))

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val computed = new UnscaledCode(ctx).of(child)
    ev.copy(code = computed.code, isNull = computed.isNull, value = computed.value)
  }

  override def alwaysEvaluatedInputs: Seq[Expression] = Nil
  override def branchGroups: Seq[Seq[Expression]] = Nil
  override def withNewAlwaysEvaluatedInputs(inputs: Seq[Expression]): UnscaledLong = this

  override protected def withNewChildInternal(newChild: Expression): UnscaledLong =
    copy(child = newChild)
}

object UnscaledLong {

  /** No decimal with this unscaled value counts as known. */
  val Unknown: Long = Long.MinValue

  private[runtime] def scaleOf(e: Expression): Int = e.dataType.asInstanceOf[DecimalType].scale

  /** The unscaled value of a decimal at this scale. */
  def of(decimal: Decimal, scale: Int): Long =
    if (decimal.scale != scale) Unknown
    else if (decimal.precision <= Decimal.MAX_LONG_DIGITS) decimal.toUnscaledLong
    else {
      val unscaled = decimal.toJavaBigDecimal.unscaledValue
      if (unscaled.bitLength < java.lang.Long.SIZE) unscaled.longValue else Unknown
    }

  // The exact results, or Unknown where an operand is, or the result does not fit. `digits`: the
  // precision of the type of the result. Beyond it Spark returns NULL or raises.

  def times(a: Long, b: Long, digits: Int): Long = {
    val low = a * b
    // the high half of the product is the sign of the low half exactly if the product is a LONG
    if (a == Unknown || b == Unknown || Math.multiplyHigh(a, b) != (low >> 63)) Unknown
    else within(low, digits)
  }

  def plus(a: Long, b: Long, digits: Int): Long = {
    val sum = a + b
    // overflow: both operands have the sign that the sum does not have
    if (a == Unknown || b == Unknown || ((a ^ sum) & (b ^ sum)) < 0) Unknown
    else within(sum, digits)
  }

  def minus(a: Long, b: Long, digits: Int): Long =
    // -Unknown is Unknown itself
    plus(a, -b, digits)

  private def within(unscaled: Long, digits: Int): Long =
    if (digits > Decimal.MAX_LONG_DIGITS) unscaled
    else {
      val limit = Decimal.POW_10(digits)
      if (unscaled < limit && unscaled > -limit) unscaled else Unknown
    }
}

/** Code that computes unscaled values. */
private final class UnscaledCode(ctx: CodegenContext) {
  import UnscaledLong.scaleOf

  def of(e: Expression): ExprCode = e match {
    case Literal(d: Decimal, t: DecimalType) =>
      constant(UnscaledLong.of(d, t.scale))
    case m: Multiply if isExact(m, scaleOf(m.left) + scaleOf(m.right)) =>
      binary(m, "times", scaleOf(m.left), scaleOf(m.right))
    case a: Add if isExact(a, scaleOf(a.left).max(scaleOf(a.right))) =>
      binary(a, "plus", scaleOf(a), scaleOf(a))
    case s: Subtract if isExact(s, scaleOf(s.left).max(scaleOf(s.right))) =>
      binary(s, "minus", scaleOf(s), scaleOf(s))
    case other => decimal(other)
  }

  /** Whether Spark does not round, because the type has all digits of the exact result. */
  private def isExact(e: BinaryArithmetic, scale: => Int): Boolean =
    Seq(e, e.left, e.right).forall(_.dataType.isInstanceOf[DecimalType]) && scaleOf(e) == scale

  /** The code of Spark, and its result as a whole number. */
  private def decimal(e: Expression): ExprCode = {
    val child = e.genCode(ctx)
    val value = ctx.freshName("unscaled")
    val isKnown = s"${child.isNull} ? 0L : $Object.of(${child.value}, ${scaleOf(e)})"
    exprCode(code"${child.code}\nlong $value = $isKnown;", child.isNull.toString, value)
  }

  /** Like Spark, computes the right side only if the left side is not NULL: it may raise. If the
    * left side is unknown, so is the result, also where the right side is NULL: the left side may
    * raise.
    */
  private def binary(e: BinaryArithmetic, method: String, left: Int, right: Int): ExprCode = {
    val digits = e.dataType.asInstanceOf[DecimalType].precision
    val (a, b) = (of(e.left), of(e.right))
    val (value, isNull) = (ctx.freshName("exact"), ctx.freshName("isNull"))
    val scaled = Seq(scaledTo(left, e.left, a), scaledTo(right, e.right, b)).mkString(", ")
    exprCode(
      code"""
        ${a.code}
        boolean $isNull = ${a.isNull};
        long $value = 0L;
        if (!$isNull && ${a.value} == $unknown) {
          $value = $unknown;
        } else if (!$isNull) {
          ${b.code}
          $isNull = ${b.isNull};
          if (!$isNull) $value = $Object.$method($scaled, $digits);
        }
      """,
      isNull,
      value
    )
  }

  private def scaledTo(scale: Int, e: Expression, code: ExprCode): String =
    if (scaleOf(e) == scale) code.value.toString
    else {
      val shift = scale - scaleOf(e)
      // a power of ten that is not a LONG makes every value unknown
      val factor =
        if (shift <= Decimal.MAX_LONG_DIGITS) s"${Decimal.POW_10(shift)}L" else unknown
      s"$Object.times(${code.value}, $factor, ${DecimalType.MAX_PRECISION})"
    }

  private def constant(unscaled: Long): ExprCode = {
    val text = if (unscaled == UnscaledLong.Unknown) unknown else s"${unscaled}L"
    exprCode(code"", "false", text)
  }

  private def exprCode(code: Block, isNull: String, value: String): ExprCode = ExprCode(
    code,
    JavaCode.expression(isNull, BooleanType),
    JavaCode.expression(value, LongType)
  )

  private val Object = "io.tamis.runtime.UnscaledLong"
  private val unknown = "Long.MIN_VALUE"
}
