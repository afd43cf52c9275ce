package io.tamis.runtime

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

class AtOrBeforeSuite extends munit.FunSuite {
  private val pools: Seq[(DataType, Seq[Any])] = Seq(
    LongType -> Seq(null, -1L, 0L, 1L, Long.MinValue, Long.MaxValue),
    DoubleType -> Seq(null, -0.0d, 0.0d, Double.NaN, Double.PositiveInfinity, -1.5d),
    StringType -> Seq(null, "", "a", "b", "ä").map {
      case s: String => UTF8String.fromString(s)
      case other     => other
    },
    BooleanType -> Seq(null, false, true)
  )

  test("the condition is true for the rows that ORDER BY places at or before the last one") {
    val random = new Random(7)
    for (_ <- 1 to 3000) {
      val columns = Seq.fill(1 + random.nextInt(3))(pools(random.nextInt(pools.size)))
      val orders = columns.map(_ => KeyOrder(random.nextBoolean(), random.nextBoolean()))
      def draw() =
        InternalRow.fromSeq(columns.map { case (_, pool) => pool(random.nextInt(pool.size)) })
      val (row, last) = (draw(), draw())
      val keys = columns.zipWithIndex.map { case ((t, _), i) => BoundReference(i, t, true) }
      val schema = StructType(columns.zipWithIndex.map { case ((t, _), i) =>
        StructField(s"k$i", t)
      })
      val ordering = new InterpretedOrdering(keys.zip(orders).map { case (key, order) =>
        SortOrder(
          key,
          if (order.descending) Descending else Ascending,
          if (order.nullsFirst) NullsFirst else NullsLast,
          Nil
        )
      })
      val condition = AtOrBefore.condition(keys, orders, last, schema)
      val expected = ordering.compare(row, last) <= 0
      assertEquals(condition.eval(row) == true, expected, s"$row, $last, $orders: $condition")
    }
  }
}
