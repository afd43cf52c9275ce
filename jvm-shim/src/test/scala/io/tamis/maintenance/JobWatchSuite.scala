package io.tamis.maintenance

import io.tamis.PlanSuite

class JobWatchSuite extends PlanSuite {
  private val oneFile = "SELECT sum(k) FROM t WHERE k < 5"

  /** What the watch has noted of jobs that run inside. */
  private def watched[A](body: JobWatch => A): (JobWatch, Int) = {
    var started = 0
    val watch = new JobWatch(() => started += 1)
    spark.sparkContext.addSparkListener(watch)
    try {
      body(watch)
      SparkGateway.delivered(spark.sparkContext, 10000)
    } finally spark.sparkContext.removeSparkListener(watch)
    (watch, started)
  }

  private def asMaintenance[A](body: => A): A = {
    spark.sparkContext.setLocalProperty(JobWatch.Property, "run")
    try body
    finally spark.sparkContext.setLocalProperty(JobWatch.Property, null)
  }

  test("jobs of users cost nothing, and begin the time without jobs again") {
    val (watch, started) = watched { _ => spark.sql(oneFile).collect() }
    assert(started > 0)
    assertEquals(watch.total, Cost.none)
    assertEquals(watch.running, Nil)
    assert(watch.idleNanos > 0)
  }

  test("while a job of a user runs, the driver is not idle") {
    val (_, _) = watched { watch =>
      val before = watch.idleNanos
      spark.sparkContext.parallelize(Seq(1), 1).foreach { _ => Thread.sleep(1) }
      SparkGateway.delivered(spark.sparkContext, 10000)
      assert(before >= 0)
      assert(watch.idleNanos < before + 60000000000L)
    }
  }

  test("jobs of maintenance cost CPU time and bytes, and do not count as those of users") {
    val (watch, started) = watched { _ => asMaintenance(spark.sql(oneFile).collect()) }
    assertEquals(started, 0)
    assert(watch.total.cpuNanos > 0)
    assert(watch.total.bytes > 0)
    assertEquals(watch.running, Nil)
  }
}
