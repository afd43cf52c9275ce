package io.tamis.rules.commands

import io.tamis.PlanSuite
import io.tamis.runtime.RuntimeValues
import io.tamis.wire.ExpressionWriter

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

class CheckpointedKeysSuite extends PlanSuite {

  private def checkpoint(sql: String): LogicalPlan =
    spark.sql(sql).localCheckpoint().queryExecution.optimizedPlan

  private def among(plan: LogicalPlan, key: Expression): Option[String] =
    CheckpointedKeys.of(key, plan).flatMap(_.among(key)).map(ExpressionWriter.sqlOf)

  test("the distinct keys of a checkpoint, without NULL") {
    val plan = checkpoint("SELECT * FROM VALUES (3L), (NULL), (1L), (3L) AS v(a)")
    assertEquals(among(plan, plan.output.head), Some("(a IN (1L, 3L))"))
    assert(CheckpointedKeys.of(plan.output.head, plan).flatMap(_.bytes).exists(_ > 0))
  }

  test("many keys are a range") {
    val plan = checkpoint(s"SELECT id a FROM range(5, ${RuntimeValues.Most + 6})")
    assertEquals(
      among(plan, plan.output.head),
      Some(s"((a >= 5L) AND (a <= ${RuntimeValues.Most + 5}L))")
    )
  }

  test("a plan that may have other rows the next time gives no keys") {
    val plan = optimized("SELECT v FROM t")
    assert(CheckpointedKeys.of(plan.output.head, plan).isEmpty)
    val rows = spark.createDataFrame(spark.sql("SELECT k FROM t").rdd, spark.table("t").schema)
    val plain = rows.queryExecution.optimizedPlan
    assert(CheckpointedKeys.of(plain.output.head, plain).isEmpty)
  }

  test("equal values of the key must be identical") {
    val plan = checkpoint("SELECT CAST(id AS DOUBLE) a FROM range(3)")
    assert(CheckpointedKeys.of(plan.output.head, plan).isEmpty)
  }

  test("keys that cannot be computed are left to the query that needs them") {
    val plan = checkpoint("SELECT concat('x', id) a FROM range(3)")
    val key = spark.sql("SELECT CAST(a AS INT) b FROM VALUES ('1') AS v(a)")
    val cast = key.queryExecution.analyzed.expressions.head.children.head
      .transform { case _: org.apache.spark.sql.catalyst.expressions.Attribute => plan.output.head }
    assertEquals(among(plan, cast), None)
  }
}
