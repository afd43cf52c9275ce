package io.tamis.planning

import io.tamis.PlanSuite
import io.tamis.rules.relations.{FilteredRelation, UseTamisTables}
import io.tamis.scan.TamisTable

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

class PinnedListingsSuite extends PlanSuite {

  private def scan(plan: LogicalPlan): (TamisTable, Seq[Expression]) =
    plan.collectFirst { case FilteredRelation(scan) => (scan.table, scan.conjuncts) }.get

  /** The number of files that a question is about, and that are in its listing. */
  private def asked(table: TamisTable, filters: Seq[Expression]): (Int, Int) = {
    val kept = spark.withActive(ScanPlanner.decide(table, filters)).kept
    (kept.count, kept.listing.size)
  }

  test("a file that is added while a query is planned is in no question of its plan") {
    val path = s"$directory/added"
    def add(): Unit = spark.range(1).coalesce(1).write.mode("append").parquet(path)
    add()
    val frame = spark.read.parquet(path)
    def planned() =
      spark.withActive(new UseTamisTables(spark)(frame.queryExecution.analyzed.clone()))
    val (table, _) = scan(planned())
    assertEquals(asked(table, Nil), (1, 1))
    add()
    table.relation.location.refresh()
    assertEquals(asked(table, Nil), (1, 1))
    assertEquals(asked(table.scannedFor(table.purpose.copy(implied = Nil)), Nil), (1, 1))
    assertEquals(asked(scan(planned())._1, Nil), (2, 2))
  }

  test("a partition that is added while a query is planned is in no question of its plan") {
    spark.sql("CREATE TABLE grows (id LONG, p INT) USING parquet PARTITIONED BY (p)")
    try {
      (0 to 3).foreach(p => spark.sql(s"INSERT INTO grows VALUES ($p, $p)"))
      val sql = "SELECT * FROM grows WHERE p > 1 AND p < 9"
      val (table, filters) = scan(tamis(sql))
      val some = filters.filter(_.sql.contains(">"))
      assertEquals(asked(table, some), (2, 2))
      spark.sql("INSERT INTO grows VALUES (5, 5)")
      assertEquals(asked(table, some), (2, 2))
      assertEquals(asked(table, filters), (2, 2))
      // a wider question needs another listing
      assertEquals(asked(table, Nil), (5, 5))
      val (later, _) = scan(tamis(sql))
      assertEquals(asked(later, filters), (3, 3))
    } finally spark.sql("DROP TABLE grows"): Unit
  }
}
