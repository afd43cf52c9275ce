package io.tamis.report

import io.tamis.PlanSuite
import io.tamis.bridge.StubAnswer
import io.tamis.planning.{AuditOutcome, AuditResult}
import io.tamis.wire.Messages

import com.fasterxml.jackson.databind.JsonNode

class ScanRecordsSuite extends PlanSuite {

  /** The records of a query that ran. */
  private def records(sql: String): Seq[JsonNode] = {
    val ran = spark.sql(sql).queryExecution
    ran.executedPlan.executeCollect()
    ScanRecords.of(ran, "app", 7, 1234).map(Messages.mapper.readTree)
  }

  test("a record has the sizes, the conjuncts and the question of the scan") {
    answer(StubAnswer(kept = Some(Seq(0, 1)), pruned = Some(2)))
    val Seq(record) = records("SELECT s FROM t WHERE k > 5"): @unchecked
    assertEquals(record.path("kind").asText, "scan")
    assertEquals((record.path("execution").asInt, record.path("time").asInt), (7, 1234))
    assertEquals((record.path("files_kept").asInt, record.path("files_total").asInt), (2, 4))
    assertEquals(record.at("/conjuncts/1/sql").asText, "(k > 5L)")
    assertEquals(record.at("/question/snapshot/files").asInt, 4)
    assertEquals(record.at("/question/detail").asBoolean, true)
    assertEquals(record.at("/kept/form").asText, "bitmap")
  }

  test("rows that are read and that pass are those that Spark counted") {
    answer(StubAnswer(kept = placesIn("t")(0, 1)))
    val Seq(record) = records("SELECT s FROM t WHERE k > 5"): @unchecked
    assertEquals((record.path("rows_read").asInt, record.path("rows_passed").asInt), (20, 14))
    answer(StubAnswer(kept = placesIn("t")(1), pushdown = "exact"))
    val Seq(exact) = records("SELECT s FROM t WHERE k > 5"): @unchecked
    assertEquals((exact.path("rows_read").asInt, exact.path("rows_passed").asInt), (10, 10))
  }

  test("scans have different ids, and an audit has that of its scan") {
    val all = records("SELECT t.s FROM t JOIN u ON t.k = u.k")
    assertEquals(all.map(_.path("id").asText).distinct.size, 2)
    val result = AuditResult(AuditOutcome.Passed, 3, None)
    val audit = Messages.mapper.readTree(ScanRecords.ofAudit(7, 1, 1234, result))
    assertEquals(audit.path("id"), all.last.path("id"))
    assertEquals(audit.at("/audit/result").asText, "passed")
  }

  test("a cached plan is recorded once") {
    spark.sql("SELECT k FROM u WHERE v > 2").createOrReplaceTempView("recorded")
    spark.catalog.cacheTable("recorded")
    try {
      assertEquals(records("SELECT max(k) FROM recorded").size, 1)
      assertEquals(records("SELECT min(k) FROM recorded").size, 0)
    } finally spark.catalog.uncacheTable("recorded")
  }
}
