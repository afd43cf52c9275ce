package io.tamis.bridge

import io.tamis.PlanSuite
import io.tamis.planning.{AnswerMemo, Decision}
import io.tamis.report.ScanReport
import io.tamis.rules.guards.QueryRefused
import java.util.concurrent.{CompletableFuture, TimeUnit}

import org.apache.spark.sql.catalyst.QueryPlanningTracker

/** Queries that come while a sidecar is starting. */
class StartWaitSuite extends PlanSuite {
  private val OpenCost = "spark.sql.files.openCostInBytes"
  private val Small = OpenCost -> "0" // a few kB are read in less than a millisecond
  private val Large = OpenCost -> "16g" // minutes
  private val DelayMs = 300L

  override def afterEach(context: AfterEach): Unit = {
    SidecarSupervisor.hasBeenReady = true
    StubPlanner.install()
  }

  /** Makes the sidecar one that is still starting. */
  private def starting(isFirst: Boolean = true): CompletableFuture[Sidecar] = {
    AnswerMemo.invalidate()
    val ready = new CompletableFuture[Sidecar]
    SidecarSupervisor.hasBeenReady = !isFirst
    StubPlanner.installWhen(ready)
    ready
  }

  private def readyIn(millis: Long, isFirst: Boolean = true): Unit = {
    val later = CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS)
    val ready = starting(isFirst)
    later.execute(() => ready.complete(StubPlanner.sidecar): Unit)
  }

  private def decision(sql: String = "SELECT s FROM t WHERE k = 5"): Decision =
    ScanReport.decisions(spark.sql(sql).queryExecution.executedPlan).head._2

  private def reason(made: Decision): Option[String] = made.fallbackReason.map(_.code)

  test("a query of few small files does not wait, and the next one is pruned") {
    answer(StubAnswer(kept = Some(Seq(0))))
    val ready = starting()
    val warnings = Warnings.all
    withConf(Small) {
      val early = decision()
      assertEquals((reason(early), early.kept.count), (Some("SIDECAR_STARTING"), 4))
      ready.complete(StubPlanner.sidecar)
      val next = decision()
      assertEquals((reason(next), next.kept.count), (None, 1))
    }
    assertEquals(Warnings.all, warnings)
  }

  test("a query waits if reading its files takes longer than the start") {
    answer(StubAnswer(kept = Some(Seq(0))))
    readyIn(DelayMs)
    assertEquals(withConf(Large)(decision()).kept.count, 1)
  }

  test("only the files of matching partitions count") {
    starting()
    // one file: 250 ms; all three of them: 750 ms
    withConf(OpenCost -> "16m", "spark.tamis.timeout" -> "500ms") {
      assertEquals(reason(decision("SELECT s FROM p WHERE day = 1")), Some("SIDECAR_STARTING"))
      assertEquals(reason(decision("SELECT s FROM p WHERE k > 1")), Some("PLANNER_FAILED"))
    }
  }

  test("no query waits longer than spark.tamis.timeout") {
    starting()
    withConf(Large, "spark.tamis.timeout" -> "100ms") {
      val failed = decision().fallbackReason.get
      assertEquals(failed.code, "PLANNER_FAILED")
      assert(failed.text.contains("raise spark.tamis.timeout"), failed.text)
    }
  }

  test("in the mode observe, queries wait as long as in the mode apply") {
    withConf(Small, "spark.tamis.mode" -> "observe") {
      starting()
      assertEquals(reason(decision()), Some("SIDECAR_STARTING"))
    }
    withConf(Large, "spark.tamis.mode" -> "observe") {
      readyIn(DelayMs)
      assertEquals(reason(decision()), Some("OBSERVING"))
    }
  }

  test("a query waits for its guards") {
    answer(StubAnswer(kept = Some(Seq(0)), pruned = Some(3)))
    for (guard <- Seq("spark.tamis.requireFilter" -> "*", "spark.tamis.assertPruned" -> "k")) {
      readyIn(DelayMs)
      assertEquals(withConf(Small, guard)(decision()).kept.count, 1)
    }
    answer(StubAnswer())
    readyIn(DelayMs)
    withConf(Small, "spark.tamis.requireFilter" -> "*")(intercept[QueryRefused](decision()))
  }

  test("a plan that a user asks for waits") {
    answer(StubAnswer(kept = Some(Seq(0))))
    readyIn(DelayMs)
    val query = spark.sql("SELECT s FROM t WHERE k = 5")
    val shown = withConf(Small)(io.tamis.Tamis.scans(query))
    assert(shown.contains("\"files_kept\":1,"), shown)
    readyIn(DelayMs)
    val rows = withConf(Small) {
      spark.sql("SELECT files_kept FROM tamis_explain('SELECT s FROM t WHERE k = 5')").collect()
    }
    assertEquals(rows.head.getLong(0), 1L)
  }

  test("a sidecar that is started again is waited for") {
    answer(StubAnswer(kept = Some(Seq(0))))
    readyIn(DelayMs, isFirst = false)
    assertEquals(withConf(Small)(decision()).kept.count, 1)
  }

  test("the requests of one query share the time") {
    def left(inAll: Long) = StartWait.atMost(100).nanos(inAll) / 1000000
    QueryPlanningTracker.withTracker(new QueryPlanningTracker) {
      assertEquals(left(inAll = Long.MaxValue), 100L)
      StartWait.atMost(50).spend(70 * 1000000L)
      assertEquals(left(inAll = Long.MaxValue), 30L)
      assertEquals(left(inAll = 80 * 1000000L), 10L)
      StartWait.atMost(50).spend(70 * 1000000L)
      assertEquals(left(inAll = Long.MaxValue), 0L)
    }
    QueryPlanningTracker.withTracker(new QueryPlanningTracker) {
      assertEquals(left(inAll = Long.MaxValue), 100L)
    }
    assertEquals(left(inAll = Long.MaxValue), 100L)
  }
}
