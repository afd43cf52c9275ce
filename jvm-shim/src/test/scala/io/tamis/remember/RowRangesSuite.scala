package io.tamis.remember

import scala.util.Random

class RowRangesSuite extends munit.FunSuite {
  private val Rows = 12L

  private def randomRanges(random: Random): Seq[(Long, Long)] =
    Seq.fill(random.nextInt(5))(random.nextLong(Rows) -> random.nextLong(Rows + 1))
  private def rowsOf(ranges: Seq[(Long, Long)]): Set[Long] =
    ranges.flatMap { case (start, stop) => start until stop }.toSet

  test("ranges behave like the sets of their rows") {
    val random = new Random(7)
    (1 to 2000).foreach { _ =>
      val (a, b) = (randomRanges(random), randomRanges(random))
      val (one, other) = (RowRanges.of(a), RowRanges.of(b))
      val stop = random.nextLong(Rows + 1)
      assertEquals(rowsOf(one.pairs), rowsOf(a))
      assertEquals(rowsOf((one or other).pairs), rowsOf(a) ++ rowsOf(b))
      assertEquals(rowsOf(one.without(other).pairs), rowsOf(a) -- rowsOf(b))
      assertEquals(rowsOf(one.others(stop).pairs), (0L until stop).toSet -- rowsOf(a))
      assertEquals(one, RowRanges.of(one.pairs))
      one.pairs.zip(one.pairs.drop(1)).foreach { case (left, right) =>
        assert(left._2 < right._1, s"$one")
      }
    }
  }
}
