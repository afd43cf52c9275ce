package io.tamis.rules.joins

import io.tamis.PlanSuite
import io.tamis.bridge.StubAnswer
import io.tamis.runtime.{RuntimeCondition, RuntimeFilterExec}
import io.tamis.scan.TamisScanExec
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}

class PlanRuntimeConditionsSuite extends PlanSuite {

  /** What Spark hands to the scans of the query at run time. */
  private def handed(sql: String): Seq[Expression] =
    spark
      .sql(sql)
      .queryExecution
      .executedPlan
      .collect { case TamisScanExec(scan, _) =>
        scan.runtimeFilters
      }
      .flatten

  private lazy val leaf: SparkPlan =
    withConf("spark.tamis.enabled" -> "false")(spark.range(5).queryExecution.sparkPlan)
  private def id: Attribute = leaf.output.head
  private def plain: Expression = GreaterThan(id, Literal(1L))
  private def pruning: Expression = RuntimeCondition(LessThan(id, Literal(3L)))

  test("the condition with a subquery becomes the IN that Spark waits for") {
    answer(StubAnswer(goal = """{"kind":"clustered","flags":[true]}"""))
    val sql = "SELECT s FROM t WHERE k > (SELECT max(k) FROM u)"
    handed(sql) match {
      case Seq(DynamicPruningExpression(in: RuntimeFilterExec)) =>
        assertEquals(in.condition.references.map(_.name).toSeq, Seq("k"))
      case other => fail(s"$other was handed to the scan")
    }
    assertEquals(spark.sql(sql).count(), 20L)
  }

  test("a condition over two subqueries is dropped") {
    val max = "(SELECT max(k) FROM u)"
    answer(StubAnswer(goal = """{"kind":"clustered","flags":[true]}"""))
    assertEquals(spark.sql(s"SELECT s FROM t WHERE k > $max AND k < $max + 5").count(), 4L)
    val min = "(SELECT min(k) FROM p)"
    assertEquals(handed(s"SELECT s FROM t WHERE k > $max + $min"), Nil)
  }

  test("dynamic pruning leaves a filter, the rest stays") {
    def rewritten(condition: Expression) = PlanRuntimeConditions(FilterExec(condition, leaf))
    assertEquals(rewritten(And(plain, pruning)), FilterExec(plain, leaf))
    assertEquals(rewritten(And(pruning, plain)), FilterExec(plain, leaf))
    assertEquals(rewritten(pruning), leaf)
    assertEquals(rewritten(plain), FilterExec(plain, leaf))
  }

  test("with tamis off, plans without a scan of tamis stay as Spark made them") {
    val filter = FilterExec(And(plain, pruning), leaf)
    withConf("spark.tamis.enabled" -> "false")(assertEquals(PlanRuntimeConditions(filter), filter))
  }
}
