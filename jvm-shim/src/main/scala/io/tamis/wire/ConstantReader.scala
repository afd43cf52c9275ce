package io.tamis.wire

import java.util.Base64

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Reads the constants of expression documents, in Catalyst's own representation. */
object ConstantReader {

  /** Reads a value of type `t`; None is NULL. Throws if the node does not hold a value of that
    * type, rather than returning a wrong one.
    */
  def value(node: JsonNode, t: DataType): Option[Any] =
    if (node == null || node.isNull || node.isMissingNode) None
    else
      Some(t match {
        case ByteType                                    => whole(node).byteValueExact
        case ShortType                                   => whole(node).shortValueExact
        case IntegerType | DateType                      => whole(node).intValueExact
        case LongType | TimestampType | TimestampNTZType => whole(node).longValueExact
        case BooleanType if node.isBoolean               => node.booleanValue
        case FloatType                                   => float(node)
        case DoubleType                                  => double(node)
        case d: DecimalType if node.isTextual            => decimal(node.asText, d)
        case BinaryType if node.isTextual                => Base64.getDecoder.decode(node.asText)
        case s: StringType if s == StringType && node.isTextual =>
          UTF8String.fromString(node.asText)
        case _ =>
          throw new IllegalArgumentException(s"$node is not a value of type ${t.simpleString}")
      })

  /** Reads the unscaled value of a sum, which is text, as a value of type `t`; None is NULL. Throws
    * if it is not one.
    */
  def unscaled(node: JsonNode, t: DataType): Option[Any] =
    if (node == null || node.isNull) None
    else {
      require(node.isTextual, s"$node is not the value of a sum")
      val value = new java.math.BigInteger(node.asText)
      Some(t match {
        case LongType       => value.longValueExact
        case d: DecimalType =>
          val exact = new java.math.BigDecimal(value, d.scale)
          require(exact.precision <= d.precision, s"$value is not a value of $t")
          Decimal(BigDecimal(exact), d.precision, d.scale)
        // a double holds every whole number up to 2^53
        case DoubleType if value.abs.bitLength <= 53 => value.longValueExact.toDouble
        case _ => throw new IllegalArgumentException(s"$value is not a sum of type $t")
      })
    }

  private def whole(node: JsonNode): java.math.BigInteger = {
    require(node.isIntegralNumber, s"$node is not a whole number")
    node.bigIntegerValue
  }

  private def double(node: JsonNode): Double = node.asText match {
    case "Infinity"         => Double.PositiveInfinity
    case "-Infinity"        => Double.NegativeInfinity
    case _ if node.isNumber => node.doubleValue
    case other              => throw new IllegalArgumentException(s"$other is not a double")
  }

  private def float(node: JsonNode): Float = {
    val wide = double(node)
    require(wide.toFloat.toDouble == wide, s"$node is not a float")
    wide.toFloat
  }

  private def decimal(text: String, t: DecimalType): Decimal = {
    val exact = new java.math.BigDecimal(text).setScale(t.scale) // throws if digits would be lost
    require(exact.precision <= t.precision, s"$text is not a value of type ${t.simpleString}")
    Decimal(BigDecimal(exact), t.precision, t.scale)
  }
}
