package io.tamis.rules.goals

import io.tamis.PlanSuite
import io.tamis.bridge.{PlannerUnavailable, StubAnswer, StubPlanner}
import io.tamis.planning.{GoalOutcome, ScanGoal}
import io.tamis.rules.relations.TamisRelation

class PruneForLimitSuite extends PlanSuite {
  private def first = StubAnswer(goal = StubAnswer.files(0))

  test("scans under a LIMIT get the goal") {
    answer(first)
    Seq(
      "SELECT * FROM t LIMIT 3" -> Seq(Seq("LIMIT 3")),
      "SELECT k + 1 FROM t WHERE v > 1 LIMIT 3" -> Seq(Seq("LIMIT 3")),
      "SELECT k FROM t LIMIT 3 OFFSET 2" -> Seq(Seq("LIMIT 5")),
      "SELECT k FROM t UNION ALL SELECT k FROM u LIMIT 3" -> Seq(Seq("LIMIT 3"), Seq("LIMIT 3")),
      "SELECT t.k FROM t LEFT JOIN u ON t.k = u.v LIMIT 3" -> Seq(Seq("LIMIT 3"), Nil),
      "SELECT max(k) FROM (SELECT k FROM t LIMIT 3)" -> Seq(Seq("LIMIT 3"))
    ).foreach { case (sql, goals) => assertEquals(reached(PruneForLimit(tamis(sql))), goals, sql) }
  }

  test("scans whose rows are not simply returned do not") {
    answer(first)
    assertNoGoals(
      PruneForLimit,
      "SELECT k FROM t",
      "SELECT k FROM t LIMIT 0",
      "SELECT k FROM t ORDER BY k LIMIT 3",
      "SELECT max(k) FROM t GROUP BY v LIMIT 3",
      "SELECT DISTINCT v FROM t LIMIT 3",
      "SELECT t.k FROM t JOIN u ON t.k = u.k LIMIT 3",
      "SELECT k, sum(k) OVER (PARTITION BY v) FROM t LIMIT 3",
      "SELECT k FROM t WHERE rand() > 0.5D LIMIT 3",
      "SELECT k FROM t WHERE k > (SELECT max(v) FROM u) LIMIT 3",
      "SELECT explode(split(s, ' ')) FROM t LIMIT 3"
    )
  }

  test("the question has the rows, and the conjuncts of the filter") {
    answer(first)
    val plan = PruneForLimit(tamis("SELECT k FROM t WHERE v > 1 LIMIT 3"))
    assertEquals(
      StubPlanner.goals.map(_.toString),
      Seq("""{"kind":"limit","rows":3,"outputs":[]}""")
    )
    assertEquals(StubPlanner.questions.head.path("conjuncts").size, 2)
    assertEquals(confined(plan), Seq(1))
  }

  test("the question has what is computed for each row below the LIMIT") {
    answer(first)
    PruneForLimit(tamis("SELECT k, v, CAST(s AS INT), k + 1 FROM t LIMIT 3"))
    val outputs = StubPlanner.goals.head.path("outputs")
    assertEquals(Seq(0, 1).map(outputs.path(_).path("f").asText).sorted, Seq("Add", "Cast"))
    assertEquals(outputs.size, 2)
  }

  test("only files of matching partitions are asked about, without the exact conjunct") {
    answer(first)
    PruneForLimit(tamis("SELECT k FROM p WHERE day = 1 LIMIT 3"))
    val question = StubPlanner.questions.head
    assertEquals(question.path("conjuncts").size, 0)
    assertEquals(question.path("among").path("form").asText, "bitmap")
  }

  test("applied twice equals once, and asks once") {
    answer(first)
    assertIdempotent(PruneForLimit, tamis("SELECT k FROM t WHERE v > 1 LIMIT 3"))
    assertEquals(StubPlanner.questions.size, 1)
  }

  test("a scan with a goal gets no second one") {
    answer(first)
    val plan = tamis("SELECT k FROM t LIMIT 3").transform { case relation @ TamisRelation(table) =>
      val purpose = table.purpose.copy(goals = Seq(GoalOutcome(ScanGoal.Split, None)))
      TamisRelation.of(table.scannedFor(purpose), relation.output)
    }
    assertUnchanged(PruneForLimit, plan)
  }

  test("without files that serve the goal the scan keeps them all, and the reason") {
    answer(StubAnswer(goal = StubAnswer.nothing("INDEX_MISSING")))
    val plan = PruneForLimit(tamis("SELECT k FROM t LIMIT 3"))
    assertEquals((confined(plan), failed(plan)), (Seq(-1), Seq("INDEX_MISSING")))
  }

  test("if the planner fails the scan keeps all files") {
    answer(throw new PlannerUnavailable("the test says so"))
    val plan = PruneForLimit(tamis("SELECT k FROM t LIMIT 3"))
    assertEquals((confined(plan), failed(plan)), (Seq(-1), Seq("PLANNER_FAILED")))
  }

  test("an answer of another kind leaves the plan unchanged") {
    answer(StubAnswer(goal = """{"kind":"clustered","flags":[true]}"""))
    assertUnchanged(PruneForLimit, tamis("SELECT k FROM t LIMIT 3"))
  }

  test("in the mode observe the files are chosen, too: the scan only shows them") {
    answer(first)
    withConf("spark.tamis.mode" -> "observe") {
      assertEquals(confined(PruneForLimit(tamis("SELECT k FROM t LIMIT 3"))), Seq(1))
    }
  }

  test("confs: off, and files that Spark may skip") {
    answer(first)
    val plan = tamis("SELECT k FROM t LIMIT 3")
    withConf("spark.tamis.limit.enabled" -> "false")(assertUnchanged(PruneForLimit, plan))
    withConf("spark.tamis.enabled" -> "false")(assertUnchanged(PruneForLimit, plan))
    withConf("spark.sql.files.ignoreMissingFiles" -> "true") {
      assertEquals(failed(PruneForLimit(plan)), Seq("MAY_LOSE_FILES"))
    }
    assertEquals(StubPlanner.questions, Nil)
  }
}
