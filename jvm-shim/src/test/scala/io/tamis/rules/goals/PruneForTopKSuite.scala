package io.tamis.rules.goals

import io.tamis.PlanSuite
import io.tamis.bridge.{StubAnswer, StubPlanner}
import io.tamis.wire.ExpressionWriter

class PruneForTopKSuite extends PlanSuite {
  private def first(until: String = "null") =
    StubAnswer(goal = s"""{"kind":"files","files":${StubAnswer.only(Seq(0))},"until":$until}""")

  /** What the scan of the query implies if no needed row has a key after `until`. */
  private def implied(sql: String, until: String): Seq[String] = {
    answer(first(until))
    tables(PruneForTopK(tamis(sql))).flatMap(_.purpose.implied).map(ExpressionWriter.sqlOf)
  }

  test("scans under ORDER BY with LIMIT get the goal") {
    answer(first())
    Seq(
      "SELECT * FROM t ORDER BY k LIMIT 3" -> "first 3 by k ASC NULLS FIRST",
      "SELECT s FROM t WHERE v > 1 ORDER BY k DESC LIMIT 3" -> "first 3 by k DESC NULLS LAST",
      "SELECT k FROM t ORDER BY v + 1, k LIMIT 3" -> "first 3 by (v + 1) ASC NULLS FIRST",
      "SELECT k * 2 AS x FROM t ORDER BY x LIMIT 3" -> "first 3 by (k * 2L) ASC NULLS FIRST",
      "SELECT k FROM t ORDER BY k LIMIT 3 OFFSET 4" -> "first 7 by k ASC NULLS FIRST",
      "SELECT max(v) FROM (SELECT * FROM t ORDER BY k LIMIT 3)" -> "first 3 by k ASC NULLS FIRST"
    ).foreach { case (sql, goal) =>
      val plan = PruneForTopK(tamis(sql))
      assertEquals((reached(plan), confined(plan)), (Seq(Seq(goal)), Seq(1)), sql)
    }
  }

  test("other scans do not") {
    answer(first())
    assertNoGoals(
      PruneForTopK,
      "SELECT k FROM t LIMIT 3",
      "SELECT k FROM t ORDER BY k",
      "SELECT k FROM t ORDER BY k OFFSET 3",
      "SELECT k FROM t SORT BY k LIMIT 3",
      "SELECT k FROM t ORDER BY rand() LIMIT 3",
      "SELECT k FROM t WHERE rand() > 0.5D ORDER BY k LIMIT 3",
      "SELECT k FROM t WHERE k > (SELECT max(v) FROM u) ORDER BY k LIMIT 3",
      "SELECT v, max(k) FROM t GROUP BY v ORDER BY v LIMIT 3",
      "SELECT t.k FROM t FULL JOIN u ON t.k = u.k ORDER BY t.k LIMIT 3",
      "SELECT t.k FROM t JOIN u ON t.k = u.k ORDER BY t.k + u.v LIMIT 3",
      "SELECT u.k FROM t LEFT JOIN u ON t.k = u.k ORDER BY u.k LIMIT 3",
      "SELECT k FROM t UNION ALL SELECT k FROM u ORDER BY k LIMIT 3"
    )
  }

  test("the question has the order of the first key, and whether it is the only one") {
    Seq(
      "k" -> (false, true, true),
      "k DESC" -> (true, false, true),
      "k NULLS LAST" -> (false, false, true),
      "k DESC NULLS FIRST" -> (true, true, true),
      "k, v" -> (false, true, false)
    ).foreach { case (order, expected) =>
      answer(first())
      PruneForTopK(tamis(s"SELECT * FROM t ORDER BY $order LIMIT 3"))
      val goal = StubPlanner.goals.head
      val asked = Seq("descending", "nulls_first", "only").map(goal.path(_).asBoolean)
      assertEquals(asked, Seq(expected._1, expected._2, expected._3), order)
      assertEquals(goal.path("rows").asInt, 3)
      assertEquals(goal.at("/key/p/0").asText, "k")
    }
  }

  test("the last needed key becomes an implied filter, which keeps NULLs that come first") {
    def sql(order: String) = s"SELECT * FROM t ORDER BY $order LIMIT 3"
    assertEquals(implied(sql("k NULLS LAST"), "5"), Seq("(k <= 5L)"))
    assertEquals(implied(sql("k"), "5"), Seq("((k IS NULL) OR (k <= 5L))"))
    assertEquals(implied(sql("k DESC"), "5"), Seq("(k >= 5L)"))
    assertEquals(implied(sql("k DESC NULLS FIRST"), "5"), Seq("((k IS NULL) OR (k >= 5L))"))
    assertEquals(implied(sql("k"), "null"), Nil)
  }

  test("nothing is implied about a partition column, which the files do not contain") {
    assertEquals(implied("SELECT * FROM p ORDER BY day LIMIT 3", "1"), Nil)
    assertEquals(implied("SELECT * FROM p ORDER BY day + k LIMIT 3", "1"), Nil)
  }

  test("scans of one table in two places are equal, whatever their attribute ids") {
    answer(first("5"))
    val one = tables(PruneForTopK(tamis("SELECT * FROM t ORDER BY k LIMIT 3")))
    val other = tables(PruneForTopK(tamis("SELECT k, s FROM t ORDER BY k LIMIT 3")))
    assertEquals(one.head.purpose.implied, other.head.purpose.implied)
  }

  test("applied twice equals once, and asks once") {
    answer(first("5"))
    assertIdempotent(PruneForTopK, tamis("SELECT * FROM t ORDER BY k LIMIT 3"))
    assertEquals(StubPlanner.questions.size, 1)
  }

  test("a goal without effect keeps all files and is not tried again") {
    answer(StubAnswer(goal = StubAnswer.nothing("INDEX_MISSING")))
    val plan = PruneForTopK(tamis("SELECT * FROM t ORDER BY k LIMIT 3"))
    assertEquals((confined(plan), failed(plan)), (Seq(-1), Seq("INDEX_MISSING")))
    assertUnchanged(PruneForTopK, plan)
    assertEquals(StubPlanner.questions.size, 1)
  }

  test("the conf turns the rule off") {
    val plan = tamis("SELECT * FROM t ORDER BY k LIMIT 3")
    withConf("spark.tamis.topK.enabled" -> "false")(assertUnchanged(PruneForTopK, plan))
  }
}
