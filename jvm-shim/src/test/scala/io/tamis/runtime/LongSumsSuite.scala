package io.tamis.runtime

import scala.util.Random

class LongSumsSuite extends munit.FunSuite {
  private val Max = Long.MaxValue
  private val Min = Long.MinValue

  private def checked(values: Seq[Long], hasUnknown: Boolean): Unit = {
    val sums = new LongSums(hasUnknown)
    values.foreach(sums.add)
    val isUnknown = hasUnknown && values.contains(UnscaledLong.Unknown)
    val expected = Seq(values.filter(_ > 0), values.filter(_ < 0)).map(_.map(BigInt(_)).sum)
    assertEquals(
      Seq(sums.positive, sums.negative).map(_.map(_.longValue)),
      expected.map(s => Option.when(!isUnknown && s.isValidLong)(s.longValue)),
      values
    )
  }

  test("sums at the ends of LONG") {
    val some = Seq(
      Nil,
      Seq(Max, 0L),
      Seq(Max, 1L, -5L),
      Seq(Max, Max, 2L, 3L),
      Seq(Max, Max, 2L, Max, Max),
      Seq(Min),
      Seq(Min, 5L),
      Seq(Min, Min),
      Seq(Min, Min, -1L),
      Seq(Min + 1, -1L),
      Seq(Min + 1, -2L, 7L),
      Seq(7L, UnscaledLong.Unknown, 7L, -7L)
    )
    for (values <- some; hasUnknown <- Seq(true, false)) checked(values, hasUnknown)
  }

  test("sums of random values do not depend on their order") {
    val random = new Random(5)
    for (_ <- 1 to 300) {
      val most = random.nextInt(64)
      val values = Seq.fill(random.nextInt(12)) {
        if (random.nextInt(20) == 0 && most == 0) UnscaledLong.Unknown
        else random.nextLong() >> most
      }
      for (hasUnknown <- Seq(true, false)) {
        checked(values, hasUnknown)
        checked(random.shuffle(values), hasUnknown)
      }
    }
  }
}
