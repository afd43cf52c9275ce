package io.tamis.planning

import org.apache.spark.sql.internal.SQLConf

class ReadingTimeSuite extends munit.FunSuite {
  private val MiB = 1L << 20

  // files, bytes, spark.sql.files.openCostInBytes, milliseconds
  private val cases = Seq(
    (0L, 0L, "4m", 0L),
    (0L, 1L, "4m", 1L),
    (0L, 64 * MiB, "4m", 1000L),
    (1L, 0L, "4m", 63L),
    (16L, 0L, "4m", 1000L),
    (16L, 64 * MiB, "4m", 2000L),
    (16L, 64 * MiB, "0", 1000L),
    (1000000L, 100000000 * MiB, "4m", 1625000000L),
    (Int.MaxValue.toLong, Long.MaxValue, s"${Long.MaxValue}", Long.MaxValue)
  )

  for ((files, bytes, openCost, millis) <- cases)
    test(s"$files files of $bytes bytes, each opened for $openCost, take $millis ms") {
      val conf = new SQLConf
      conf.setConfString("spark.sql.files.openCostInBytes", openCost)
      assertEquals(ReadingTime.millis(files, bytes, conf), millis)
    }
}
