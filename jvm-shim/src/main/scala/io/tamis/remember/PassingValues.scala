package io.tamis.remember

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode
import org.apache.spark.sql.types._

/** The least and the greatest value of columns in rows that passed, as Spark stores them: days,
  * microseconds, or the unscaled value of a decimal. If a column had no value but NULL, its least
  * value is greater than its greatest one.
  */
final class ValueRanges(val least: Array[Long], val greatest: Array[Long]) extends Serializable {
  def or(other: ValueRanges): ValueRanges = new ValueRanges(
    least.zip(other.least).map { case (a, b) => math.min(a, b) },
    greatest.zip(other.greatest).map { case (a, b) => math.max(a, b) }
  )

  override def equals(other: Any): Boolean = other match {
    case r: ValueRanges =>
      java.util.Arrays.equals(least, r.least) && java.util.Arrays.equals(greatest, r.greatest)
    case _ => false
  }
  override def hashCode(): Int =
    31 * java.util.Arrays.hashCode(least) + java.util.Arrays.hashCode(greatest)
  override def toString: String =
    least.zip(greatest).map { case (a, b) => s"$a to $b" }.mkString(", ")
}

/** Reads the values of columns whose order is that of whole numbers. */
private[remember] object PassingValues {

  /** Floating-point numbers are not among them, because of NaN and -0.0. */
  def isOrdered(t: DataType): Boolean = t match {
    case ByteType | ShortType | IntegerType | LongType => true
    case DateType | TimestampType | TimestampNTZType   => true
    case d: DecimalType                                => d.precision <= Decimal.MAX_LONG_DIGITS
    case _                                             => false
  }

  /** The code that converts the value of a column, which has been read. */
  def code(column: Attribute, value: ExprCode): String = column.dataType match {
    case _: DecimalType => s"${value.isNull} ? 0L : ${value.value}.toUnscaledLong()"
    case _              => s"(long) ${value.value}"
  }

  /** The same for a row whose value at this ordinal is not NULL. */
  def read(row: InternalRow, ordinal: Int, t: DataType): Long = t match {
    case ByteType               => row.getByte(ordinal).toLong
    case ShortType              => row.getShort(ordinal).toLong
    case IntegerType | DateType => row.getInt(ordinal).toLong
    case d: DecimalType         => row.getDecimal(ordinal, d.precision, d.scale).toUnscaledLong
    case _                      => row.getLong(ordinal)
  }
}
