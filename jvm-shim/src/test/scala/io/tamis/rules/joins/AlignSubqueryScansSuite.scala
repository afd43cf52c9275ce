package io.tamis.rules.joins

import io.tamis.PlanSuite
import io.tamis.bridge.StubAnswer
import io.tamis.rules.relations.TamisScanRelation
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Subquery}

class AlignSubqueryScansSuite extends PlanSuite {

  /** The rule and those rules of Spark that merge subqueries. */
  private val excluded = Seq(
    "io.tamis.rules.AlignSubqueryScans",
    "org.apache.spark.sql.catalyst.optimizer.MergeScalarSubqueries",
    "org.apache.spark.sql.catalyst.optimizer.MergeSubplans"
  ).mkString(",")

  /** The plan with subqueries whose scans are built. */
  private def before(sql: String): LogicalPlan =
    withConf("spark.sql.optimizer.excludedRules" -> excluded) {
      spark.sql(sql).queryExecution.optimizedPlan
    }

  /** The columns that each scan reads. */
  private def read(plan: LogicalPlan): Seq[String] =
    plan.collectWithSubqueries { case TamisScanRelation(scan) =>
      scan.required.fieldNames.mkString(",")
    }.sorted

  private def aligned(sql: String): Seq[String] = read(AlignSubqueryScans(before(sql)))

  private def both(first: String, second: String): String = s"SELECT ($first), ($second)"

  private val sql =
    both("SELECT avg(v) FROM t WHERE k > 5", "SELECT count(s) FROM t WHERE k > 5")

  test("scans of the same files read the columns of both, in the order of the table") {
    assertEquals(read(before(sql)), Seq("k,s", "k,v"))
    assertEquals(aligned(sql), Seq("k,v,s", "k,v,s"))
  }

  test("the output of each subquery stays") {
    val plan = before(sql)
    val changed = AlignSubqueryScans(plan)
    assertEquals(changed.output, plan.output)
    assertEquals(changed.subqueriesAll.map(_.output), plan.subqueriesAll.map(_.output))
    assertEquals(spark.sql(sql).collect().toSeq, spark.sql(sql).collect().toSeq)
  }

  test("scans that Spark does not merge keep their columns") {
    Seq(
      both("SELECT avg(v) FROM t WHERE k > 5", "SELECT count(s) FROM t WHERE k > 6"),
      both("SELECT avg(v) FROM t WHERE k > 5", "SELECT count(s) FROM u WHERE k > 5"),
      both("SELECT avg(v) FROM t WHERE k > 5", "SELECT max(s) FROM t WHERE k > 5"), // sorted
      both(
        "SELECT avg(v) FROM t WHERE k > 5",
        "SELECT count(s) FROM t WHERE k > 5 GROUP BY k HAVING k = 7"
      ),
      "SELECT (SELECT avg(v) FROM t WHERE k > 5), s FROM t WHERE k > 5"
    ).foreach(query => assertEquals(aligned(query), read(before(query)), query))
  }

  test("scans of different files keep their columns") {
    answers { question =>
      val kept = if (question.path("conjuncts").toString.contains("[\"v\"]")) Seq(0) else Seq(0, 1)
      StubAnswer(kept = Some(kept), pushdown = "exact")
    }
    val query = both("SELECT avg(k) FROM t WHERE v > 5", "SELECT count(s) FROM t WHERE k > 5")
    assertEquals(aligned(query), read(before(query)))
  }

  test("a subquery that is optimized on its own stays as it is") {
    val subquery = Subquery(before(sql), correlated = false)
    assert(AlignSubqueryScans(subquery) eq subquery)
  }
}
