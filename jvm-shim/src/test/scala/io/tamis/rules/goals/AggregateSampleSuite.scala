package io.tamis.rules.goals

import io.tamis.PlanSuite
import io.tamis.bridge.{StubAnswer, StubPlanner}
import io.tamis.planning.ScanPlanner
import io.tamis.runtime.{Extreme, Extremes, FruitlessSamples, NeededRows, SampledBoundary}
import io.tamis.scan.TamisScanExec
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper

class AggregateSampleSuite extends PlanSuite with AdaptiveSparkPlanHelper {

  /** The planner offers this sample of all files, and none of the others when the query runs. */
  private def sampled(sample: Int*): Unit = answers { question =>
    if (question.path("goal").isNull || question.path("goal").isMissingNode)
      StubAnswer(kept = Some(if (question.path("conjuncts").isEmpty) Seq(0, 1, 2, 3) else Nil))
    else
      StubAnswer(goal = s"""{"kind":"aggregate","files":${StubAnswer.only(Seq(0, 1, 2, 3))},
           |"covered":0,"skipped":0,"groups":[],
           |"sample":${StubAnswer.only(sample)}}""".stripMargin)
  }

  private def boundaries(plan: LogicalPlan): Seq[SampledBoundary] =
    tables(plan).flatMap(_.purpose.boundary)

  private val sql = "SELECT min(k) AS least, max(s) FROM t"

  test("a scan awaits the values of a sample") {
    sampled(0, 3)
    val plan = AggregateFromStatistics(tamis(sql))
    val Seq(boundary) = boundaries(plan)
    def column(name: String) =
      ScanBelow.byName(plan.collectLeaves().head.output.find(_.name == name).get)
    assertEquals(
      boundary.needed: NeededRows,
      Extremes(Seq(Extreme(column("k"), isMin = true), Extreme(column("s"), isMin = false)))
    )
    assertEquals(boundary.samples.flatMap(confined), Seq(2))
    assertEquals(boundary.whole.map(_.count), Some(2))
    assertEquals(boundary.text, "(may change min(k), max(s), known from a sample)")
    assertEquals(
      reached(plan),
      Seq(
        Seq(
          "min(k), max(s): 0 files answered from statistics, a sample of 2 is read first"
        )
      )
    )
  }

  test("the files of the sample are read, whatever the planner says of the values") {
    val asked = tamis("SELECT min(k), max(k) FROM t")
    val numbers = numbersOf(ScanPlanner.everything(tables(asked).head).kept.listing)
    sampled(numbers.indexOf(0), numbers.indexOf(3))
    val plan = AggregateFromStatistics(asked)
    val execution = spark.sessionState.executePlan(plan)
    val Seq(row) = execution.executedPlan.executeCollect().toSeq
    assertEquals(Seq(row.getLong(0), row.getLong(1)), Seq(0L, 39L))
    val read = collect(execution.executedPlan) { case TamisScanExec(_, scan) => scan.runtimeKept }
    assertEquals(read.flatten.map(_.count), Seq(2))
    // the same plan reads the sample once
    val Seq(boundary) = boundaries(plan)
    assertEquals(boundary.plans.size, 1)
    assertEquals(
      boundary.plans.flatMap(_.collect { case TamisScanExec(_, s) => s.decision.kept.count }),
      Seq(2)
    )
  }

  test("a sample is offered only for MIN and MAX of all rows") {
    def offers(sql: String): Option[Boolean] = {
      sampled(0)
      AggregateFromStatistics(tamis(sql))
      StubPlanner.goals.headOption.map(!_.path("sample").isNull)
    }
    val cases = Seq(
      "SELECT min(k), max(s) FROM t WHERE v = 3" -> Some(true),
      "SELECT min(n) + 1 FROM (SELECT k AS n FROM t WHERE v > 3)" -> Some(true),
      "SELECT min(k), count(*) FROM t" -> Some(false),
      "SELECT min(k) FILTER (WHERE v = 3) FROM t" -> Some(false),
      "SELECT min(k + v) FROM t" -> Some(false),
      "SELECT day, min(k) FROM p GROUP BY day" -> Some(false),
      "SELECT min(k) FROM t WHERE rand() < 0.5" -> None,
      "SELECT min(s COLLATE UNICODE_CI) FROM t" -> None
    )
    cases.foreach { case (sql, expected) => assertEquals(offers(sql), expected, sql) }
  }

  test("confs turn samples off") {
    TopKSampleSuite.Off.foreach { conf =>
      withConf(conf) {
        sampled(0)
        AggregateFromStatistics(tamis(sql))
        assertEquals(StubPlanner.goals.map(_.path("sample").isNull), Seq(true), conf.toString)
      }
    }
  }

  test("a sample without a value is not read again") {
    FruitlessSamples.clear()
    val empty = "SELECT min(k) FROM t WHERE v > 1000"
    sampled(0)
    val plan = AggregateFromStatistics(tamis(empty))
    val Seq(boundary) = boundaries(plan)
    assertEquals(boundary.condition, None)
    val again = AggregateFromStatistics(tamis(empty))
    assertEquals(boundaries(again), Nil)
    assertEquals(
      tables(again).flatMap(_.purpose.goals).flatMap(_.reason).map(_.code),
      Seq("TOPK_SAMPLE_TOO_SMALL")
    )
    // another filter is another sample
    assertEquals(boundaries(AggregateFromStatistics(tamis(sql))).size, 1)
    FruitlessSamples.clear()
  }

  test("applied twice equals once, and asks once") {
    sampled(0)
    assertIdempotent(AggregateFromStatistics, tamis(sql))
  }
}
