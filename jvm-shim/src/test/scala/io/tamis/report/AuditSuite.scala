package io.tamis.report

import io.tamis.PlanSuite
import io.tamis.bridge.{StubAnswer, StubPlanner}
import io.tamis.wire.Messages

import com.fasterxml.jackson.databind.JsonNode

class AuditSuite extends PlanSuite {

  /** The results of the audit of a query that runs. */
  private def audited(sql: String): Seq[JsonNode] =
    withConf("spark.tamis.audit" -> "4", "spark.tamis.history.enabled" -> "true") {
      spark.sql(sql).collect()
      ScanHistory.flush(spark.sparkContext) // waits for the events of the query
      assert(Audit.await(60000))
      StubPlanner.records.map(Messages.mapper.readTree).filter(_.path("kind").asText == "audit")
    }.map(_.path("audit"))

  private def outcomes(sql: String): Seq[String] = audited(sql).map(_.path("result").asText)

  test("files that are left out rightly pass") {
    answer(StubAnswer(kept = placesIn("t")(3)))
    assertEquals(outcomes("SELECT s FROM t WHERE k > 35"), Seq("passed"))
  }

  test("a row in a file that is left out is a disagreement") {
    answer(StubAnswer(kept = placesIn("t")(0)))
    val Seq(result) = audited("SELECT s FROM t WHERE k > 35"): @unchecked
    assertEquals(result.path("result").asText, "disagreement")
    assert(result.path("text").asText.contains("4 rows"), result)
    assertEquals(result.path("files").asInt, 3)
  }

  test("a row that does not pass an exact conjunct is a disagreement, NULL included") {
    answer(StubAnswer(pushdown = "exact"))
    assertEquals(outcomes("SELECT s FROM t WHERE k > 35"), Seq("disagreement"))
    answer(StubAnswer(pushdown = "exact"))
    assertEquals(outcomes("SELECT s FROM t WHERE nullif(v, 3) < 10"), Seq("disagreement"))
    answer(StubAnswer(pushdown = "exact"))
    assertEquals(outcomes("SELECT s FROM t WHERE k >= 0"), Seq("passed"))
  }

  test("a decision that is only observed is audited") {
    answer(StubAnswer(kept = placesIn("t")(0)))
    withConf("spark.tamis.mode" -> "observe") {
      assertEquals(outcomes("SELECT s FROM t WHERE k > 35"), Seq("disagreement"))
    }
  }

  test("a scan without a filter has nothing to audit") {
    assertEquals(outcomes("SELECT s FROM t"), Nil)
  }

  test("a filter with a subquery or rand() is not counted for files that are left out") {
    answer(StubAnswer(kept = placesIn("t")(3)))
    assertEquals(outcomes("SELECT s FROM t WHERE k > 35 AND rand() < 2D"), Seq("passed"))
  }
}
