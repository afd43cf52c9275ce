package io.tamis.runtime

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  HyperLogLogPlusPlus,
  ImperativeAggregate
}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

class HllRegistersSuite extends munit.FunSuite {

  /** Values of each type. Some of them are equal to Spark, and have other bits. */
  private val types = Seq[(DataType, Random => Any)](
    (BooleanType, r => r.nextBoolean()),
    (ByteType, r => r.nextInt(256).toByte),
    (IntegerType, r => r.nextInt(5000)),
    (LongType, r => r.nextLong()),
    (FloatType, r => if (r.nextInt(9) > 0) r.nextInt(9) - 4f else -0f),
    (
      DoubleType,
      r =>
        r.nextInt(5) match {
          case 0 => -0.0
          case 1 => Double.NaN
          case 2 => java.lang.Double.longBitsToDouble(0x7ff0000000000001L + r.nextInt(9))
          case _ => r.nextInt(2000) / 4.0
        }
    ),
    (StringType, r => UTF8String.fromString("ß" * r.nextInt(3) + r.nextInt(3000))),
    (BinaryType, r => Array.fill(r.nextInt(3))(r.nextInt().toByte)),
    (DateType, r => r.nextInt(30000)),
    (TimestampType, r => r.nextLong() >> 10),
    (DecimalType(9, 2), r => Decimal(r.nextInt(100000).toLong, 9, 2)),
    (DecimalType(38, 5), r => Decimal(BigDecimal(BigInt(100 + r.nextInt(20), r), 5), 38, 5))
  )

  private def aggregated(
      function: ImperativeAggregate,
      rows: Seq[InternalRow]
  ): (InternalRow, Any) = {
    val buffer = new SpecificInternalRow(function.aggBufferSchema.map(_.dataType))
    function.initialize(buffer)
    rows.foreach(function.update(buffer, _))
    (buffer, function.eval(buffer))
  }

  test("merged registers give the number that Spark gives for all rows") {
    val random = new Random(13)
    var (linear, biased) = (0, 0)
    for {
      (t, draw) <- types
      deviation <- Seq(0.39, 0.05, 0.02)
      most <- Seq(0, 3, 300, 3000)
    } {
      val child = BoundReference(0, t, nullable = true)
      val parts = Seq.fill(1 + random.nextInt(4)) {
        Seq.fill(random.nextInt(most + 1)) {
          InternalRow(if (random.nextInt(10) == 0) null else draw(random))
        }
      }
      val (_, expected) = aggregated(HyperLogLogPlusPlus(child, deviation, 0, 0), parts.flatten)
      val registers = parts.map(aggregated(HllOfValues(child, deviation), _)._2)
      val bytes = BoundReference(0, BinaryType, nullable = true)
      val shuffled = random.shuffle(registers :+ null)
      val (_, merged) = aggregated(HllMerged(bytes, deviation), shuffled.map(InternalRow(_)))
      assertEquals(
        HllEstimate(Literal(merged, BinaryType), deviation).eval(),
        expected,
        s"$t $parts"
      )
      val whole = aggregated(HllOfValues(child, deviation), parts.flatten)._2
      assertEquals(merged.asInstanceOf[Array[Byte]].toSeq, whole.asInstanceOf[Array[Byte]].toSeq)
      if (expected.asInstanceOf[Long] > 1000) biased += 1 else linear += 1
    }
    assert(linear > 20 && biased > 5, (linear, biased))
  }

  test("buffers at other offsets, and partial results of executors") {
    val child = BoundReference(0, IntegerType, nullable = true)
    val rows = (1 to 50).map(InternalRow(_))
    val words = HllRegisters.size(0.05) / 8
    val function = HllOfValues(child, 0.05, 3, 5)
    val buffer = new SpecificInternalRow(Seq.fill(words + 3)(LongType))
    function.initialize(buffer)
    rows.take(20).foreach(function.update(buffer, _))
    val other = new SpecificInternalRow(Seq.fill(words + 5)(LongType))
    val rest = HllOfValues(child, 0.05, 5)
    rest.initialize(other)
    rows.drop(20).foreach(rest.update(other, _))
    function.merge(buffer, other)
    val found = function.eval(buffer).asInstanceOf[Array[Byte]]
    assertEquals(
      found.toSeq,
      aggregated(HllOfValues(child, 0.05), rows)._2.asInstanceOf[Array[Byte]].toSeq
    )
    val bytes = BoundReference(0, BinaryType, nullable = true)
    val merging = HllMerged(bytes, 0.05, 3, 5)
    merging.initialize(buffer)
    merging.update(buffer, InternalRow(found))
    assertEquals(merging.eval(buffer).asInstanceOf[Array[Byte]].toSeq, found.toSeq)
  }

  test("no value has no bytes") {
    val child = BoundReference(0, IntegerType, nullable = true)
    val none = aggregated(HllOfValues(child, 0.05), Seq(InternalRow(null)))._2
    assertEquals(none.asInstanceOf[Array[Byte]].length, 0)
    assertEquals(HllEstimate(Literal(none, BinaryType), 0.05).eval(), 0L)
    assertEquals(HllRegisters.size(0.05), 416)
    assertEquals(HllRegisters.size(0.01), 13112)
  }
}
