package io.tamis.report

import io.tamis.PlanSuite
import io.tamis.bridge.StubAnswer
import org.apache.spark.sql.execution.SparkPlan

class ScanNodesSuite extends PlanSuite {
  private def planned(sql: String): SparkPlan = spark.sql(sql).queryExecution.executedPlan

  private def decided(sql: String): Seq[ScanNode] = ScanNodes.decided(planned(sql))

  test("a scan has its decision, its filter and what it reads") {
    answer(StubAnswer(kept = Some(Seq(0, 1))))
    val Seq(scan) = decided("SELECT s FROM t WHERE k > 1"): @unchecked
    assertEquals(scan.decision.kept.count, 2)
    assertEquals(scan.read.map(_.files), Some(2L))
    assertEquals(scan.read.flatMap(_.bytes), Some(scan.decision.kept.bytes))
    assert(scan.filter.exists(_.condition.references.map(_.name).toSeq.contains("k")))
    assertEquals(decided("SELECT s FROM t").map(_.filter), Seq(None))
  }

  test("scans of subqueries and joins are there, each once") {
    val sql = "SELECT t.k FROM t JOIN u ON t.k = u.k WHERE t.v > (SELECT max(v) FROM p)"
    assertEquals(decided(sql).map(_.decision.kept.listing.size).sorted, Seq(2, 3, 4))
    val twice = "SELECT k FROM t WHERE v > (SELECT max(v) FROM p) AND k > (SELECT max(v) FROM p)"
    assertEquals(decided(twice).size, 2)
  }

  test("scans below cached plans are there only if asked for") {
    spark.sql("SELECT k FROM u WHERE v > 2").createOrReplaceTempView("cached")
    spark.catalog.cacheTable("cached")
    try {
      val plan = planned("SELECT cached.k FROM cached JOIN t ON cached.k = t.k")
      assertEquals(ScanNodes.of(plan, _ => true).size, 2)
      assertEquals(ScanNodes.of(plan, _ => false).size, 1)
    } finally spark.catalog.uncacheTable("cached")
  }

  test("what a scan reads is not known before its run-time filters are") {
    answer(StubAnswer(goal = """{"kind":"clustered","flags":[true]}"""))
    val sql = "SELECT s FROM t WHERE k > (SELECT max(k) FROM u)"
    val plan = planned(sql)
    val scan = ScanNodes.decided(plan).find(_.decision.kept.listing.size == 4).get
    assertEquals(scan.conditions.map(_.prunes), Seq(true))
    assertEquals(scan.read, None)
    plan.executeCollect()
    val ran = ScanNodes.decided(plan).find(_.decision.kept.listing.size == 4).get
    assertEquals(ran.read.map(_.files), Some(4L))
  }
}
