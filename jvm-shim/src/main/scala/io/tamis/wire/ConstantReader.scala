package io.tamis.wire

import java.util.Base64

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Reads constants as expression documents write them, in Catalyst's own representation. */
object ConstantReader {

  /** Throws where it is no value of the type, rather than give a wrong one; None: NULL. */
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
        case _ => throw new IllegalArgumentException(s"$node is no ${t.simpleString}")
      })

  private def whole(node: JsonNode): java.math.BigInteger = {
    require(node.isIntegralNumber, s"$node is no whole number")
    node.bigIntegerValue
  }

  private def double(node: JsonNode): Double = node.asText match {
    case "Infinity"         => Double.PositiveInfinity
    case "-Infinity"        => Double.NegativeInfinity
    case _ if node.isNumber => node.doubleValue
    case other              => throw new IllegalArgumentException(s"$other is no double")
  }

  private def float(node: JsonNode): Float = {
    val wide = double(node)
    require(wide.toFloat.toDouble == wide, s"$node is no float")
    wide.toFloat
  }

  private def decimal(text: String, t: DecimalType): Decimal = {
    val exact = new java.math.BigDecimal(text).setScale(t.scale) // throws where digits are lost
    require(exact.precision <= t.precision, s"$text is no ${t.simpleString}")
    Decimal(BigDecimal(exact), t.precision, t.scale)
  }
}
