package io.tamis.report

import io.tamis.PlanSuite
import io.tamis.bridge.StubAnswer
import io.tamis.wire.Messages

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.execution.QueryExecution

class ScanReportSuite extends PlanSuite {
  private def planned(sql: String): QueryExecution = spark.sql(sql).queryExecution

  private def scan(sql: String): JsonNode =
    Messages.mapper.readTree(ScanReport.scans(planned(sql))).get(0)

  test("a scan has its sizes, its conjuncts and their reasons") {
    answer(StubAnswer(kept = Some(Seq(0)), pruned = Some(3)))
    val found = scan("SELECT s FROM t WHERE k > 5")
    assertEquals((found.get("files_kept").asInt, found.get("files_total").asInt), (1, 4))
    assert(found.get("bytes_kept").asLong < found.get("bytes_total").asLong)
    assert(found.get("rows_kept").isNull && found.get("row_groups_kept").isNull)
    assertEquals(found.at("/conjuncts/1/sql").asText, "(k > 5L)")
    assertEquals(found.at("/conjuncts/1/pushdown").asText, "inexact")
    assertEquals(found.at("/conjuncts/1/pruned_files").asInt, 3)
    assert(found.get("fallback").isNull && found.at("/timing/listing_ms").isNumber)
  }

  test("goals and run-time conditions are listed, with whether they prune") {
    answer(StubAnswer(goal = StubAnswer.nothing("INDEX_MISSING")))
    val goal = scan("SELECT s FROM t LIMIT 3").at("/goals/0")
    assertEquals(goal.path("goal").asText, "LIMIT 3")
    assertEquals(goal.at("/reason/code").asText, "INDEX_MISSING")
    val applied = scan("SELECT s FROM t WHERE k > (SELECT max(k) FROM u)").at("/runtime/0")
    assertEquals(applied.path("prunes").asBoolean(true), false)
    answer(StubAnswer(goal = """{"kind":"clustered","flags":[true]}"""))
    val pruning = scan("SELECT s FROM t WHERE k > (SELECT max(k) FROM u)").at("/runtime/0")
    assertEquals(pruning.path("prunes").asBoolean(false), true)
  }

  test("a scan that only observes shows what would have been read") {
    answer(StubAnswer(kept = Some(Seq(0))))
    withConf("spark.tamis.mode" -> "observe") {
      val found = scan("SELECT s FROM t WHERE k > 5")
      assertEquals((found.get("files_kept").asInt, found.get("files_read").asInt), (1, 4))
      assertEquals(found.get("observed").asBoolean, true)
      assertEquals(found.at("/fallback_reason/code").asText, "OBSERVING")
    }
  }

  test("the explanation has what each conjunct prunes, and totals of all partitions") {
    answer(StubAnswer(pruned = Some(2)))
    val explained = ScanReport.explained(planned("SELECT s FROM p WHERE day = 1 AND k > 5"))
    val found = explained.at("/scans/0")
    assertEquals((found.get("files_kept").asInt, found.get("files_total").asInt), (1, 3))
    val pruned =
      (0 until found.path("conjuncts").size).map(i => found.at(s"/conjuncts/$i/pruned_files").asInt)
    assert(pruned.contains(2), found)
  }

  test("scans that statistics replaced, and relations that are left to Spark") {
    answer(
      StubAnswer(goal =
        """{"kind":"aggregate","files":{"form":"none"},"covered":4,"groups":[{"key":0,"values":[9]}]}"""
      )
    )
    val answered = ScanReport.explained(planned("SELECT max(k) FROM t"))
    assertEquals(answered.path("scans").size, 0)
    assertEquals(answered.at("/answered/0/files").asInt, 4)
    spark.range(3).write.mode("overwrite").csv(s"$directory/report")
    val left = ScanReport.explained(planned(s"SELECT * FROM csv.`$directory/report`"))
    assertEquals(left.at("/left_to_spark/0/reasons/0/code").asText, "NOT_PARQUET")
  }
}
