package io.tamis.wire

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

class ConstantReaderSuite extends munit.FunSuite {
  private def read(json: String, t: DataType): Option[Any] =
    ConstantReader.value(Messages.mapper.readTree(json), t)

  test("values are read in Catalyst's own representation") {
    assertEquals(read("null", LongType), None)
    assertEquals(read("true", BooleanType), Some(true))
    assertEquals(read("-128", ByteType), Some((-128).toByte))
    assertEquals(read("9131", DateType), Some(9131))
    assertEquals(read("9223372036854775807", TimestampType), Some(Long.MaxValue))
    assertEquals(read("1.5", DoubleType), Some(1.5))
    assertEquals(read("1e300", DoubleType), Some(1e300))
    assertEquals(read("2", FloatType), Some(2.0f))
    assertEquals(read("\"-Infinity\"", FloatType), Some(Float.NegativeInfinity))
    assertEquals(read("\"1.50\"", DecimalType(9, 2)), Some(Decimal(BigDecimal("1.50"), 9, 2)))
    assertEquals(read("\"é\"", StringType), Some(UTF8String.fromString("é")))
    assertEquals(
      read("\"AP8=\"", BinaryType).map(_.asInstanceOf[Array[Byte]].toSeq),
      Some(Seq[Byte](0, -1))
    )
  }

  test("a node that is not a value of the type is rejected") {
    Seq[(String, DataType)](
      "1.5" -> LongType,
      "128" -> ByteType,
      "1" -> BooleanType,
      "\"1\"" -> DoubleType,
      "\"NaN\"" -> DoubleType,
      "0.1" -> FloatType,
      "1.5" -> DecimalType(9, 2),
      "\"1.555\"" -> DecimalType(9, 2),
      "\"12345678.00\"" -> DecimalType(9, 2),
      "\"a\"" -> StringType("UTF8_LCASE"),
      "1" -> DayTimeIntervalType()
    ).foreach { case (json, t) => intercept[Exception](read(json, t)) }
  }
}
