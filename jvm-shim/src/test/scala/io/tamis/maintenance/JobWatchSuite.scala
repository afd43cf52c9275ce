package io.tamis.maintenance

import io.tamis.PlanSuite
import io.tamis.report.SparkEvents
import java.util.concurrent.CountDownLatch

import scala.collection.mutable
import scala.concurrent.Await
import scala.concurrent.duration._

class JobWatchSuite extends PlanSuite {
  private val oneFile = "SELECT sum(k) FROM t WHERE k < 5"
  private val run = JobWatch.Prefix + "1"

  private final class Watched(current: Set[String]) {
    @volatile var started = 0
    val cancelled: mutable.Set[Int] = mutable.Set.empty
    val watch = new JobWatch(() => started += 1, current, job => cancelled += job: Unit)
    def idle: Option[Long] =
      watch.idleNanos(spark.sparkContext.statusTracker.getActiveJobIds().toSeq)
  }

  private def delivered(): Unit = SparkEvents.delivered(spark.sparkContext, 10000)

  private def watched(current: String*)(body: Watched => Unit): Watched = {
    val watched = new Watched(current.toSet)
    spark.sparkContext.addSparkListener(watched.watch)
    try {
      body(watched)
      delivered()
    } finally spark.sparkContext.removeSparkListener(watched.watch)
    watched
  }

  private def inGroup[A](group: String)(body: => A): A = {
    spark.sparkContext.setJobGroup(group, "a test")
    try body
    finally spark.sparkContext.clearJobGroup()
  }

  test("jobs of users cost nothing; the driver is idle again when they have ended") {
    val before = System.nanoTime()
    val seen = watched(run) { seen =>
      spark.sql(oneFile).collect()
      delivered()
      assert(seen.idle.exists(_ < System.nanoTime() - before))
    }
    assert(seen.started > 0)
    assertEquals(seen.watch.total, Cost.none)
    assertEquals(seen.watch.running, Nil)
  }

  /** The body while a job runs. */
  private def whileRunning(body: => Unit): Unit = {
    JobWatchSuite.release = new CountDownLatch(1)
    val job = spark.sparkContext
      .parallelize(Seq(1), 1)
      .foreachAsync { _ => JobWatchSuite.release.await() }
    try {
      while (spark.sparkContext.statusTracker.getActiveJobIds().isEmpty) Thread.sleep(1)
      delivered()
      body
    } finally JobWatchSuite.release.countDown()
    Await.ready(job, 10.seconds)
    delivered()
  }

  test("while a job of a user runs, the driver is not idle") {
    watched(run) { seen =>
      whileRunning(assertEquals(seen.idle, None))
      assert(seen.idle.isDefined)
    }
  }

  test("neither is it while a job runs that began before the watch") {
    whileRunning(watched(run)(seen => assertEquals(seen.idle, None)): Unit)
  }

  test("a command without jobs counts as one of a user") {
    val seen = watched(run)(_ => spark.sql("DROP TABLE IF EXISTS missing"))
    assert(seen.started > 0)
  }

  test("jobs of maintenance cost time and bytes, and do not count as those of users") {
    val seen = watched(run)(_ => inGroup(run)(spark.sql(oneFile).collect()))
    assertEquals(seen.started, 0)
    assert(seen.watch.total.nanos > 0)
    assert(seen.watch.total.bytes > 0)
    assertEquals(seen.watch.running, Nil)
    assertEquals(seen.cancelled.toSet, Set.empty[Int])
  }

  test("a job of a run that has ended is cancelled") {
    val seen = watched()(_ => inGroup(run)(spark.sql(oneFile).collect()))
    assertEquals(seen.started, 0)
    assert(seen.cancelled.nonEmpty)
  }

  test("job groups of users are theirs") {
    val seen = watched(run)(_ => inGroup("report")(spark.sql(oneFile).collect()))
    assert(seen.started > 0)
    assertEquals(seen.watch.total, Cost.none)
  }
}

object JobWatchSuite {
  @volatile private var release = new CountDownLatch(0)
}
