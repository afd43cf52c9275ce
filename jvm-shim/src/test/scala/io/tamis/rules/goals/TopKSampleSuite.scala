package io.tamis.rules.goals

import io.tamis.PlanSuite
import io.tamis.bridge.{StubAnswer, StubPlanner}
import io.tamis.runtime.{FirstRows, KeyOrder, NeededRows, SampledBoundary}
import io.tamis.scan.TamisScanExec
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.ExplainMode

class TopKSampleSuite extends PlanSuite {

  /** The planner offers these samples, one after the other. */
  private def sampled(samples: Seq[Int]*) =
    StubAnswer(goal = s"""{"kind":"sampled","files":${StubAnswer.only(
        Seq(0, 1, 2, 3)
      )},"until":null,"samples":[${samples
        .map(StubAnswer.only(_))
        .mkString(",")}]}""")

  private def boundaries(plan: LogicalPlan): Seq[SampledBoundary] =
    tables(plan).flatMap(_.purpose.boundary)

  test("a scan awaits the keys of the n-th row of a sample") {
    answer(sampled(Seq(0), Seq(0, 1)))
    val plan = PruneForTopK(tamis("SELECT s FROM t WHERE v = 3 ORDER BY k DESC, v LIMIT 3"))
    val Seq(first) = boundaries(plan)
    def column(name: String) =
      ScanBelow.byName(plan.collectLeaves().head.output.find(_.name == name).get)
    assertEquals(
      first.needed: NeededRows,
      FirstRows(Seq(column("k"), column("v")), Seq(KeyOrder(true, false), KeyOrder(false, false)))
    )
    assertEquals(first.samples.flatMap(confined), Seq(1, 2))
    assertEquals(
      first.text,
      "(among the first 3 by k DESC NULLS LAST, v ASC NULLS FIRST, known from a sample)"
    )
    assert(!plan.exists(_.expressions.exists(SubqueryExpression.hasSubquery)), plan)
  }

  /** The number of rows of a query, and the files of the samples that its scan has read. */
  private def ran(sql: String, offered: Seq[Int]*): (Int, Seq[Int]) = {
    answer(sampled(offered: _*))
    val plan = PruneForTopK(tamis(sql))
    val Seq(boundary) = boundaries(plan)
    val execution = spark.sessionState.executePlan(plan)
    execution.explainString(ExplainMode.fromString("extended"))
    assertEquals(boundary.plans, Nil, "nothing runs before the query")
    val rows = execution.executedPlan.executeCollect()
    assertEquals(execution.executedPlan.executeCollect().toSeq, rows.toSeq)
    val read = boundary.plans.map(_.collect { case TamisScanExec(_, scan) => scan })
    (rows.length, read.map(_.map(_.decision.kept.count).sum))
  }

  test("samples are read once, when the query runs, until one has enough rows") {
    // v = 3 for k = 3, 10, 17, 24, 31, 38
    val sql = "SELECT k FROM t WHERE v = 3 ORDER BY k LIMIT "
    assertEquals(ran(sql + 1, Seq(0), Seq(0, 1)), (1, Seq(1)))
    assertEquals(ran(sql + 6, Seq(0), Seq(0, 1, 2, 3)), (6, Seq(1, 4)))
    assertEquals(ran(sql + 7, Seq(0), Seq(0, 1, 2, 3)), (6, Seq(1, 4)))
  }

  test("two boundaries are equal if they read the same samples") {
    def of(sql: String, sample: Int*) = {
      answer(sampled(sample))
      boundaries(PruneForTopK(tamis(sql))).head
    }
    val sql = "SELECT k FROM t WHERE v = 3 ORDER BY k LIMIT 3"
    assertEquals(of(sql, 0, 1), of(sql, 0, 1))
    Seq(
      sql -> Seq(0),
      sql.replace("v = 3", "v = 4") -> Seq(0, 1),
      sql.replace("LIMIT 3", "LIMIT 4") -> Seq(0, 1),
      sql.replace("BY k", "BY k DESC") -> Seq(0, 1),
      sql.replace("BY k", "BY k, s") -> Seq(0, 1)
    ).foreach { case (other, files) =>
      assertNotEquals(of(other, files: _*), of(sql, 0, 1), (other, files).toString)
    }
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
    TopKSampleSuite.Off.foreach { conf =>
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

object TopKSampleSuite {

  /** Confs that turn samples off. */
  val Off: Seq[(String, String)] = Seq(
    "spark.tamis.topK.sample.enabled" -> "false",
    "spark.tamis.runtimeFilters.enabled" -> "false",
    "spark.tamis.mode" -> "observe"
  )
}
