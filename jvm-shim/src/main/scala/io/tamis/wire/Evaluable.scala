package io.tamis.wire

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types._

/** A predicate whose value depends on one column alone, so that the driver can compute it for
  * single values of that column.
  *
  * @param key
  *   the same for predicates with the same value, and the same error, for the same row
  * @param column
  *   an attribute, or a field of a struct
  */
final case class Evaluable(key: String, predicate: Expression, column: Expression) {

  /** The predicate over a row that holds nothing but the column. */
  def bound: Expression = {
    val value = BoundReference(0, column.dataType, nullable = true)
    // a copy of its own: expressions may keep state, and the plan keeps the original
    predicate
      .transformDown { case e if Evaluable.isSame(e, column) => value }
      .freshCopyIfContainsStatefulExpression()
  }
}

object Evaluable {
  private val MaxNodes = 100

  /** Lengths up to this number are computed, and so many functions that make text longer. */
  private val MaxLength = 1000
  private val MaxLengthening = 2

  /** @param keyOf
    *   the key of an expression; None if it may give another value elsewhere, such as what depends
    *   on the time, on a subquery or on a user-defined function
    */
  def of(e: Expression, keyOf: Expression => Option[String]): Option[Evaluable] =
    if (e.dataType != BooleanType || !isSmall(e) || !computes(e) || !isSafeWhole(e)) None
    else
      columnsOf(e) match {
        case first +: others if others.forall(isSame(_, first)) && isSupported(first.dataType) =>
          // the order of operands counts, too: a AND b raises no error of b where a is false
          keyOf(e).map { key =>
            val order = Digest.sha256(ExpressionWriter.sqlOf(e).getBytes(UTF_8), 8)
            Evaluable(s"$key-$order", e, first)
          }
        case _ => None
      }

  private def isSmall(e: Expression): Boolean = {
    var left = MaxNodes
    def visit(e: Expression): Boolean = { left -= 1; left > 0 && e.children.forall(visit) }
    visit(e)
  }

  /** Whether the predicate holds more than comparisons of the column with constants, which
    * statistics decide without further help.
    */
  private def computes(e: Expression): Boolean = e match {
    case ExpressionWriter.ColumnPath(_) | _: Literal                           => false
    case _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: In | _: InSet =>
      e.children.exists(computes)
    case _: BinaryComparison => e.children.exists(computes)
    case _                   => true
  }

  private def columnsOf(e: Expression): Seq[Expression] = e match {
    case ExpressionWriter.ColumnPath(_) => Seq(e)
    case _: Attribute                   => Seq(e)
    case _                              => e.children.flatMap(columnsOf)
  }

  private def isSame(one: Expression, other: Expression): Boolean =
    one.getClass == other.getClass && one.semanticEquals(other)

  /** Types whose values travel, and are equal only if no function tells them apart. A string with a
    * collation is not: values that are equal under it may differ.
    */
  private def isSupported(t: DataType): Boolean = t match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType => true
    case FloatType | DoubleType | _: DecimalType | BinaryType        => true
    case DateType | TimestampType | TimestampNTZType                 => true
    case s: StringType => ExpressionWriter.typeName(s) == ExpressionWriter.typeName(StringType)
    case _             => false
  }

  private def isSafeWhole(e: Expression): Boolean =
    !e.exists(!isSafe(_)) && e.collect { case part if isLengthening(part) => part }.size <=
      MaxLengthening

  private def isLengthening(e: Expression): Boolean = Lengthening(e.getClass.getSimpleName)

  /** Whether the driver may compute this node: its result is not much longer than its arguments. */
  private def isSafe(e: Expression): Boolean = Repeatable.isRepeatable(e) && (e match {
    case s: StaticInvoke               => !Padding(s.functionName)
    case _: FormatString | _: Sequence => false
    case _ if isLengthening(e)         =>
      e.children.forall(c => !isWhole(c.dataType) || isShort(c))
    case _ => true
  })

  /** Functions of bytes. */
  private val Padding = Set("lpad", "rpad")

  /** Functions whose result may be longer than their arguments by a factor. */
  private val Lengthening = Set(
    "StringRepeat",
    "StringSpace",
    "StringLPad",
    "StringRPad",
    "ArrayRepeat",
    "StringReplace",
    "RegExpReplace",
    "StringTranslate"
  )

  private def isWhole(t: DataType): Boolean = t == IntegerType || t == LongType

  private def isShort(e: Expression): Boolean = e match {
    case Literal(n: Number, _) => n.longValue <= MaxLength
    case _                     => false
  }
}
