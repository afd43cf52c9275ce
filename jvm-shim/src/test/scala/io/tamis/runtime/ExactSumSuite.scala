package io.tamis.runtime

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.LongType

class ExactSumSuite extends munit.FunSuite {
  private val value = AttributeReference("value", LongType)()

  private def projected(to: Seq[Expression], from: Seq[Attribute]): InternalRow => InternalRow = {
    val compiled = UnsafeProjection.create(to, from)
    val interpreted = InterpretedUnsafeProjection.createProjection(
      BindReferences.bindReferences(to, from)
    )
    row => {
      val result = compiled(row).copy()
      assertEquals(interpreted(row).copy(), result)
      result
    }
  }

  private final class Sums(hasUnknown: Boolean) {
    private val function = ExactSum(value, hasUnknown)
    private val buffers = function.aggBufferAttributes
    private val update = projected(function.updateExpressions, buffers :+ value)
    private val merge =
      projected(function.mergeExpressions, buffers ++ function.inputAggBufferAttributes)
    private val evaluate = projected(Seq(function.evaluateExpression), buffers)
    private val empty = InternalRow.fromSeq(function.initialValues.map(_.eval()))

    /** The sums of some values, added up in parts that are then merged in turn. */
    def of(parts: Seq[Seq[Option[Long]]]): Seq[Option[Long]] = {
      val partial = parts.map(_.foldLeft(empty) { (buffer, v) =>
        update(new JoinedRow(buffer, InternalRow(v.getOrElse(null))))
      })
      val whole = partial.foldLeft(empty)((a, b) => merge(new JoinedRow(a, b)))
      val result = evaluate(whole).getStruct(0, 3)
      (0 until 3).map(i => Option.when(!result.isNullAt(i))(result.getLong(i)))
    }
  }

  private lazy val sums = Seq(true, false).map(flag => flag -> new Sums(flag)).toMap

  private def expected(values: Seq[Option[Long]], hasUnknown: Boolean): Seq[Option[Long]] = {
    val known = values.flatten
    val isUnknown = hasUnknown && known.contains(UnscaledLong.Unknown)
    val sums = Seq(known.filter(_ > 0), known.filter(_ < 0)).map(_.map(BigInt(_)).sum)
    sums.map(s => Option.when(!isUnknown && s.isValidLong)(s.longValue)) :+
      Some(known.size.toLong)
  }

  private def checked(parts: Seq[Seq[Option[Long]]], hasUnknown: Boolean): Unit =
    assertEquals(sums(hasUnknown).of(parts), expected(parts.flatten, hasUnknown), parts)

  private val Max = Long.MaxValue
  private val Min = Long.MinValue

  test("sums at the ends of LONG") {
    val some = Seq(
      Nil,
      Seq(Nil),
      Seq(Seq(None, None)),
      Seq(Seq(Some(Max), Some(0L))),
      Seq(Seq(Some(Max), Some(1L), Some(-5L))),
      Seq(Seq(Some(Max)), Seq(Some(1L))),
      Seq(Seq(Some(Max), Some(Max), Some(2L)), Seq(Some(3L))),
      Seq(Seq(Some(3L)), Seq(Some(Max), Some(Max), Some(2L))),
      Seq(Seq(Some(Min))),
      Seq(Seq(Some(Min), Some(Min))),
      Seq(Seq(Some(Min)), Seq(Some(Min))),
      Seq(Seq(Some(Min + 1), Some(-1L)), Seq(None)),
      Seq(Seq(Some(Min + 1), Some(-2L)), Seq(Some(7L))),
      Seq(Seq(Some(7L)), Seq(Some(Min + 1), Some(-2L)))
    )
    for (parts <- some; hasUnknown <- Seq(true, false)) checked(parts, hasUnknown)
  }

  test("sums of random values do not depend on their order") {
    val random = new Random(5)
    for (_ <- 1 to 300) {
      val most = random.nextInt(64)
      val parts = Seq.fill(random.nextInt(4))(Seq.fill(random.nextInt(6)) {
        random.nextInt(9) match {
          case 0 => None
          case 1 => Some(UnscaledLong.Unknown).filter(_ => most == 0)
          case _ => Some(random.nextLong() >> most)
        }
      })
      for (hasUnknown <- Seq(true, false)) checked(parts, hasUnknown)
    }
  }
}
