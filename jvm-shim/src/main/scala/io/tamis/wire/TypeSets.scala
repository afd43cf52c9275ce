package io.tamis.wire

import org.apache.spark.sql.types._

/** The sets of types that rules distinguish. A type that no set names is in none of them. */
object TypeSets {
  def isWhole(t: DataType): Boolean = t match {
    case ByteType | ShortType | IntegerType | LongType => true
    case _                                             => false
  }

  /** Spark treats -0.0 and 0.0 as equal, and NaN as equal to itself; Scala does not. */
  def isFloating(t: DataType): Boolean = t == FloatType || t == DoubleType

  def isTimestamp(t: DataType): Boolean = t == TimestampType || t == TimestampNTZType

  /** Whether values may be long: text of any collation, and bytes. */
  def isVarying(t: DataType): Boolean = t match {
    case _: StringType | BinaryType => true
    case _                          => false
  }

  /** Whether two values are equal to Spark exactly if they are equal in Scala. Under a collation
    * they are not. A decimal may have another scale than its type, if it is a partition value.
    */
  def areEqualAsInScala(t: DataType): Boolean = t match {
    case BooleanType | DateType => true
    case s: StringType          => s == StringType
    case _                      => isWhole(t) || isTimestamp(t)
  }

  /** Whether equal values of a row are identical. */
  def areIdenticalIfEqual(t: DataType): Boolean =
    areEqualAsInScala(t) || t.isInstanceOf[DecimalType]

  /** Whether a constant that Python writes is the same value here, and has the same order. */
  def isOrderedInPython(t: DataType): Boolean =
    areIdenticalIfEqual(t) || isFloating(t) || t == BinaryType

  /** Whether ranges may be derived for a column. NaN and -0.0 have another place in Parquet's
    * order, and nothing is implied about the other types.
    */
  def hasRanges(t: DataType): Boolean = !isFloating(t) && t != BooleanType && t != BinaryType
}
