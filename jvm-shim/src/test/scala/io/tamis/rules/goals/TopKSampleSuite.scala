package io.tamis.rules.goals

import io.tamis.PlanSuite
import io.tamis.bridge.{StubAnswer, StubPlanner}
import io.tamis.rules.relations.TamisScanRelation
import io.tamis.runtime.{AtOrBefore, IfUnanswered, RuntimeCondition}
import org.apache.spark.sql.catalyst.expressions.{Expression, ScalarSubquery}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

class TopKSampleSuite extends PlanSuite {

  /** The planner offers these samples, one after the other. */
  private def sampled(samples: Seq[Int]*) =
    StubAnswer(goal = s"""{"kind":"sampled","files":${StubAnswer.only(
        Seq(0, 1, 2, 3)
      )},"until":null,"samples":[${samples
        .map(StubAnswer.only(_))
        .mkString(",")}]}""")

  private def conditions(plan: LogicalPlan): Seq[AtOrBefore] = plan.collect {
    case Filter(condition, _) =>
      condition.collect { case RuntimeCondition(first: AtOrBefore) => first }
  }.flatten

  private def subquery(e: Expression): LogicalPlan = e match {
    case s: ScalarSubquery => s.plan
    case other             => fail(s"no subquery: $other")
  }

  private def files(plan: LogicalPlan): Seq[Int] =
    plan.collect { case TamisScanRelation(scan) => scan.decision.kept.count }

  test("a scan receives the keys of the n-th row of a sample") {
    answer(sampled(Seq(0)))
    val plan = PruneForTopK(tamis("SELECT s FROM t WHERE v = 3 ORDER BY k DESC, v LIMIT 3"))
    val Seq(first) = conditions(plan)
    assertEquals(first.keys.map(_.sql), Seq("k", "v"))
    assertEquals(
      first.orders.map(o => (o.descending, o.nullsFirst)),
      Seq((true, false), (false, false))
    )
    assertEquals(files(subquery(first.last)), Seq(1))
    assertEquals(
      first.text,
      "(among the first 3 by k DESC NULLS LAST, v ASC NULLS FIRST, known from a sample)"
    )
  }

  test("the second sample is read only if the first one has given no answer") {
    answer(sampled(Seq(0), Seq(0, 1)))
    val plan = PruneForTopK(tamis("SELECT * FROM t WHERE v = 3 ORDER BY k LIMIT 3"))
    val Seq(first, second) = conditions(plan)
    val unanswered = subquery(second.last).collect { case Filter(condition, _) =>
      condition.collect { case RuntimeCondition(IfUnanswered(_, answer)) => answer }
    }.flatten
    assertEquals(unanswered.map(subquery), Seq(subquery(first.last)))
    assertEquals(files(subquery(second.last)), Seq(2))
  }

  test("a sample is offered only if the plan below the Sort can be evaluated twice") {
    def offers(sql: String): Option[Boolean] = {
      answer(sampled(Seq(0)))
      PruneForTopK(tamis(sql))
      StubPlanner.goals.headOption.map(!_.path("sample").isNull)
    }
    val cases = Seq(
      "SELECT k FROM t WHERE v = 3 ORDER BY k LIMIT 3" -> Some(true),
      "SELECT k FROM t JOIN (VALUES (3)) AS d (w) ON v = w ORDER BY k LIMIT 3" -> Some(true),
      "SELECT k FROM t LEFT ANTI JOIN (VALUES (3)) AS d (w) ON v = w ORDER BY k LIMIT 3" ->
        Some(true),
      "SELECT k FROM t WHERE v = 3 ORDER BY named_struct('a', k) LIMIT 3" -> Some(false),
      "SELECT k FROM t WHERE v = 3 ORDER BY s COLLATE UNICODE_CI LIMIT 3" -> Some(false),
      "SELECT k FROM t WHERE v = 3 ORDER BY k LIMIT 20000" -> Some(false),
      "SELECT k FROM t JOIN (SELECT v AS w, max(k) AS m FROM u GROUP BY v LIMIT 2) ON v = w " +
        "ORDER BY k LIMIT 3" -> None
    )
    cases.foreach { case (sql, expected) => assertEquals(offers(sql), expected, sql) }
  }

  test("a join with a large side reads no sample") {
    answer(sampled(Seq(0)))
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "10") {
      assertNoGoals(PruneForTopK, "SELECT t.k FROM t JOIN u ON t.v = u.v ORDER BY t.k LIMIT 3")
    }
  }

  test("above a join, what statistics of the scan show is not enough") {
    answer(
      StubAnswer(goal = s"""{"kind":"files","files":${StubAnswer.only(Seq(0))},"until":5}""")
    )
    val join = "SELECT t.k FROM t JOIN (VALUES (3)) AS d (w) ON v = w ORDER BY k LIMIT 3"
    assertUnchanged(PruneForTopK, tamis(join))
    assertEquals(StubPlanner.goals.map(_.at("/sample/only").asBoolean), Seq(true))
  }

  test("confs turn samples off") {
    Seq(
      "spark.tamis.topK.sample.enabled" -> "false",
      "spark.tamis.runtimeFilters.enabled" -> "false",
      "spark.tamis.mode" -> "observe"
    ).foreach { conf =>
      withConf(conf) {
        answer(sampled(Seq(0)))
        PruneForTopK(tamis("SELECT k FROM t WHERE v = 3 ORDER BY k LIMIT 3"))
        assert(StubPlanner.goals.forall(_.path("sample").isNull), conf)
      }
    }
  }

  test("applied twice equals once, and asks once") {
    answer(sampled(Seq(0), Seq(0, 1)))
    assertIdempotent(PruneForTopK, tamis("SELECT * FROM t WHERE v = 3 ORDER BY k LIMIT 3"))
  }
}
