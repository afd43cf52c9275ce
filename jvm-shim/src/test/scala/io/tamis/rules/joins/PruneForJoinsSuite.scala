package io.tamis.rules.joins

import io.tamis.PlanSuite
import io.tamis.bridge.{PlannerUnavailable, StubAnswer, StubPlanner}

import com.fasterxml.jackson.databind.JsonNode

class PruneForJoinsSuite extends PlanSuite {

  /** The first file serves the goal. */
  private val first = StubAnswer(goal = StubAnswer.files(0))

  /** For each question the directory of its scan, and those of the scans that the keys come from.
    */
  private def asked: Seq[(String, Seq[String])] = {
    def name(scan: JsonNode) = scan.at("/table/roots/0").asText.split('/').last
    StubPlanner.questions.map { question =>
      val sources = question.at("/goal/sources")
      val names = (0 until sources.size).map(i => name(sources.get(i).path("scan")))
      name(question) -> names
    }
  }

  test("the rows that a join may lose decide which scans are confined, with one question each") {
    Seq(
      "t JOIN u ON t.k = u.k" -> Set("t" -> Seq("u"), "u" -> Seq("t")),
      "t LEFT JOIN u ON t.k = u.k" -> Set("u" -> Seq("t")),
      "t RIGHT JOIN u ON t.k = u.k" -> Set("t" -> Seq("u")),
      "t LEFT SEMI JOIN u ON t.k = u.k" -> Set("t" -> Seq("u"), "u" -> Seq("t")),
      "t LEFT ANTI JOIN u ON t.k = u.k" -> Set("u" -> Seq("t")),
      "t FULL JOIN u ON t.k = u.k" -> Set.empty[(String, Seq[String])],
      "t JOIN u ON t.k <=> u.k" -> Set.empty[(String, Seq[String])],
      "t JOIN u ON t.k < u.k" -> Set.empty[(String, Seq[String])]
    ).foreach { case (join, expected) =>
      answer(StubAnswer())
      PruneForJoins(tamis(s"SELECT * FROM (SELECT k FROM t) t ${join.drop(2)}"))
      assertEquals(asked.toSet, expected, join)
      assertEquals(asked.size, expected.size, join)
    }
  }

  test("the goal has the key of both scans and the filters of the other side") {
    answer(StubAnswer())
    PruneForJoins(tamis("SELECT t.v FROM t LEFT JOIN u ON t.k = u.v + 1L WHERE t.k > 5"))
    val goal = StubPlanner.goals.head
    assertEquals(goal.path("kind").asText, "join")
    assert(goal.path("key").toString.contains("\"v\""), goal)
    assertEquals(goal.at("/sources/0/key/p/0").asText, "k")
    assertEquals(goal.at("/sources/0/scan/conjuncts").size, 2)
    assert(goal.path("others").isNull)
  }

  test("a key that raises an error for a row of VALUES is unknown") {
    answer(StubAnswer())
    assertNoGoals(
      PruneForJoins,
      """SELECT t.k FROM t JOIN (VALUES ('x'), ('7')) v(s) ON t.k = CAST(v.s AS BIGINT)
         WHERE v.s RLIKE '^[0-9]+$'"""
    )
  }

  test("keys come from every branch of a UNION ALL, from VALUES and from extended rows") {
    answer(StubAnswer())
    PruneForJoins(
      tamis("""SELECT p.k FROM p JOIN (
                 SELECT k FROM t UNION ALL SELECT k FROM u UNION ALL VALUES (7L), (NULL)
               ) q ON p.k = q.k""")
    )
    val goal = StubPlanner.questions.find(_.at("/table/roots/0").asText.endsWith("/p")).get
    assertEquals(goal.at("/goal/sources").size, 2)
    assertEquals(goal.at("/goal/others/v").toString, "[7]")
    answer(StubAnswer())
    PruneForJoins(
      tamis("""SELECT p.k FROM p JOIN (
                 SELECT coalesce(u.k, -1L) AS k FROM t LEFT JOIN u ON t.k = u.k
               ) q ON p.k = q.k""")
    )
    val added = StubPlanner.goals.map(_.at("/others/v").toString)
    assert(added.contains("[-1]"), added)
  }

  test("keys of unknown origin are not asked about") {
    assertNoGoals(
      PruneForJoins,
      "SELECT t.k FROM t LEFT JOIN (SELECT explode(array(k, 1L)) AS k FROM u) q ON t.k = q.k",
      "SELECT t.k FROM t LEFT JOIN (SELECT sum(k) AS k FROM u GROUP BY v) q ON q.k = t.v",
      "SELECT t.k FROM t CROSS JOIN u"
    )
  }

  test("FLOAT and DOUBLE keys of VALUES are not compared: joins equate -0.0 with 0.0") {
    assertNoGoals(
      PruneForJoins,
      "SELECT t.k FROM t JOIN (VALUES (0.0D), (5.0D)) w(x) ON CAST(t.k AS DOUBLE) = w.x",
      "SELECT t.k FROM t JOIN (VALUES (FLOAT(0))) w(x) ON CAST(t.k AS FLOAT) = w.x"
    )
  }

  test("a scan is confined to the files of the answer, until a pass prunes no more") {
    answer(first)
    val plan = tamis("SELECT * FROM t JOIN u ON t.k = u.k")
    val pruned = PruneForJoins(plan)
    assertEquals(confined(pruned), Seq(1, 1))
    assertEquals(reached(pruned).map(_.size), Seq(1, 1))
    assertIdempotent(PruneForJoins, plan)
  }

  test("a join is asked about again only if the files of its other side have become fewer") {
    val two = StubAnswer(goal = StubAnswer.files(0, 1))
    def planned(ofKeysOfP: StubAnswer) = {
      answers { question =>
        question.at("/goal/sources/0/scan/table/roots/0").asText.split('/').last match {
          case "u" => two
          case "p" => ofKeysOfP
          case _   => StubAnswer()
        }
      }
      PruneForJoins(tamis("SELECT * FROM t JOIN u ON t.k = u.k JOIN p ON t.v = p.v"))
    }
    val plan = planned(StubAnswer())
    val bottomUp = Seq("u" -> Seq("t"), "t" -> Seq("u"), "p" -> Seq("t"), "t" -> Seq("p"))
    assertEquals(asked, bottomUp :+ ("u" -> Seq("t")))
    assertEquals(confined(plan), Seq(2, -1, -1))
    assertEquals(failed(plan), Seq("INDEX_MISSING", "INDEX_MISSING", "INDEX_MISSING"))
    // what the other join has left out stays out
    assertEquals(confined(planned(first)), Seq(1, -1, -1))
  }

  test("without such files the scans keep all, and the reason") {
    answer(StubAnswer(goal = StubAnswer.nothing("KEY_RANGE_UNKNOWN")))
    val plan = PruneForJoins(tamis("SELECT * FROM t LEFT JOIN u ON t.k = u.k"))
    assertEquals((confined(plan), failed(plan)), (Seq(-1, -1), Seq("KEY_RANGE_UNKNOWN")))
  }

  test("a scan under a filter with rand() keeps all files: it would get other numbers") {
    answer(first)
    val sql = "SELECT * FROM (SELECT * FROM t WHERE rand() > 0.5D) t JOIN u ON t.k = u.k"
    assertEquals(confined(PruneForJoins(tamis(sql))), Seq(-1, 1))
    Seq("k IN (SELECT k FROM u)", "EXISTS (SELECT 1 FROM u WHERE u.k = t.k)").foreach { condition =>
      def planned(sql: String) = confined(PruneForJoins(tamisInSubqueries(sql)))
      assertEquals(planned(s"SELECT * FROM t WHERE $condition"), Seq(1, 1), condition)
      val both = s"SELECT * FROM t WHERE $condition AND rand(7) > 0.5D"
      assertEquals(planned(both), Seq(-1, -1), condition)
    }
  }

  test("if the planner fails the scans keep all files") {
    answer(throw new PlannerUnavailable("the test says so"))
    val plan = PruneForJoins(tamis("SELECT * FROM t LEFT JOIN u ON t.k = u.k"))
    assertEquals((confined(plan), failed(plan)), (Seq(-1, -1), Seq("PLANNER_FAILED")))
  }

  test("in the mode observe the files are chosen, too: the scan only shows them") {
    answer(first)
    withConf("spark.tamis.mode" -> "observe") {
      assertEquals(
        confined(PruneForJoins(tamis("SELECT * FROM t LEFT JOIN u ON t.k = u.k"))),
        Seq(-1, 1)
      )
    }
  }

  test("confs: off, and files that Spark may skip") {
    answer(first)
    val plan = tamis("SELECT * FROM t LEFT JOIN u ON t.k = u.k")
    withConf("spark.tamis.joins.enabled" -> "false")(assertUnchanged(PruneForJoins, plan))
    withConf("spark.tamis.enabled" -> "false")(assertUnchanged(PruneForJoins, plan))
    withConf("spark.sql.files.ignoreMissingFiles" -> "true") {
      assertEquals(failed(PruneForJoins(plan)), Seq("MAY_LOSE_FILES"))
    }
    assertEquals(StubPlanner.questions, Nil)
  }
}
