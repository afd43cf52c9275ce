package io.tamis.report

import io.tamis.PlanSuite
import io.tamis.bridge.StubAnswer
import io.tamis.wire.Messages

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.execution.QueryExecution

class LayoutsSuite extends PlanSuite {
  private def planned(sql: String): QueryExecution = spark.sql(sql).queryExecution
  private def scans(sql: String): Seq[JsonNode] = {
    val all = Messages.mapper.readTree(Layouts.scans(planned(sql)))
    (0 until all.size).map(all.get)
  }
  private def texts(node: JsonNode): Seq[String] = (0 until node.size).map(node.get(_).asText)

  test("a scan has its files, columns and filters") {
    answer(StubAnswer(kept = Some(Seq(0, 1))))
    val Seq(scan) = scans("SELECT s FROM t WHERE k > 1"): @unchecked
    assertEquals((scan.get("files_kept").asInt, scan.get("files_total").asInt), (2, 4))
    assert(scan.get("bytes_kept").asLong < scan.get("bytes_total").asLong)
    assert(scan.get("rows_total").isNull)
    assertEquals(texts(scan.get("columns")), Seq("k", "v", "s"))
    assertEquals(texts(scan.get("partition_columns")), Nil)
    assertEquals(scan.get("filters").size, scan.get("conjuncts").size)
    assertEquals(scan.at("/filters/1/sql").asText, "(k > 1L)")
    assertEquals(scan.at("/conjuncts/1/f").asText, "GreaterThan")
    assertEquals(scan.get("case_sensitive").asBoolean, false)
  }

  test("partition columns are named, and partitions that do not match count as files") {
    val Seq(scan) = scans("SELECT s FROM p WHERE day = 1"): @unchecked
    assertEquals(texts(scan.get("partition_columns")), Seq("day"))
    assertEquals((scan.get("files_kept").asInt, scan.get("files_total").asInt), (1, 3))
  }

  test("every scan of the plan is there, each once") {
    val sql = "SELECT t.k FROM t JOIN u ON t.k = u.k WHERE t.v > (SELECT max(v) FROM p)"
    assertEquals(scans(sql).map(_.get("files_total").asInt).sorted, Seq(2, 3, 4))
    assertEquals(scans("SELECT 1"), Nil)
  }

  test("in the mode observe it is the decision that would have been made") {
    answer(StubAnswer(kept = Some(Seq(0, 1))))
    withConf("spark.tamis.mode" -> "observe") {
      assertEquals(scans("SELECT s FROM t WHERE k > 1").map(_.get("files_kept").asInt), Seq(2))
    }
  }

  test("rows are those of the whole table") {
    answer(StubAnswer(kept = Some(Nil)))
    val rows = Layouts.rows(planned("SELECT s FROM t WHERE k > 1000"), 0)
    assertEquals(rows.columns.toSeq, Seq("k", "v", "s"))
    assertEquals(rows.count(), 40L)
  }
}
