package io.tamis.rules.goals

import io.tamis.PlanSuite
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.{Add, Alias, Literal}
import org.apache.spark.sql.catalyst.plans.logical.Project

class ScanBelowSuite extends PlanSuite {
  private def conjuncts(sql: String): Option[Seq[String]] =
    ScanBelow.unapply(tamis(sql)).map(_.conjuncts.map(ExpressionWriter.sqlOf))

  test("a scan, with or without a filter and projections") {
    assertEquals(conjuncts("SELECT * FROM t"), Some(Nil))
    assertEquals(conjuncts("SELECT k + 1 FROM t"), Some(Nil))
    assertEquals(
      conjuncts("SELECT s FROM t WHERE k > 1 AND v < 3"),
      Some(Seq("(k IS NOT NULL)", "(v IS NOT NULL)", "(k > 1L)", "(v < 3)"))
    )
  }

  test("anything else over the scan") {
    Seq(
      "SELECT k FROM t LIMIT 3",
      "SELECT k FROM t ORDER BY k",
      "SELECT max(k) FROM t",
      "SELECT DISTINCT k FROM t",
      "SELECT t.k FROM t JOIN u ON t.k = u.k",
      "SELECT k, row_number() OVER (ORDER BY k) FROM t",
      "SELECT k FROM t UNION ALL SELECT k FROM u",
      "SELECT explode(split(s, ' ')) FROM t"
    ).foreach(sql => assertEquals(conjuncts(sql), None, sql))
  }

  test("a conjunct or column that is not known before the query runs") {
    Seq(
      "SELECT k FROM t WHERE k > 1 AND rand() > 0.5D",
      "SELECT k, rand() FROM t",
      "SELECT k FROM t WHERE k > (SELECT max(k) FROM u)",
      "SELECT k, (SELECT max(k) FROM u) FROM t"
    ).foreach(sql => assertEquals(conjuncts(sql), None, sql))
  }

  test("a filter that does not lie directly on the scan") {
    val sql = "SELECT r FROM (SELECT k, rand() AS r FROM t) WHERE r > 0.5D"
    assertEquals(conjuncts(sql), None)
  }

  test("relations that are not tables of tamis") {
    assertEquals(ScanBelow.unapply(optimized("SELECT k FROM t WHERE k > 1")), None)
    assertEquals(conjuncts("SELECT id FROM range(10) WHERE id > 1"), None)
  }

  test("an output of the plan is an expression over the columns of the relation") {
    val inner = tamis("SELECT v * 2 AS x, k FROM t WHERE k > 1")
    val outer =
      Project(Seq(Alias(Add(inner.output.head, Literal(1)), "y")(), inner.output(1)), inner)
    val scan = ScanBelow.unapply(outer).get
    val outputs = outer.output.map(a => a.name -> ExpressionWriter.sqlOf(scan.atScan(a)))
    assertEquals(outputs, Seq("y" -> "((v * 2) + 1)", "k" -> "k"))
    assert(outer.output.forall(a => scan.atScan(a).references.subsetOf(scan.relation.outputSet)))
  }
}
