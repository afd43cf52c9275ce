package io.tamis.rules.filters

import io.tamis.PlanSuite
import io.tamis.bridge.StubAnswer
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.execution.{FilterExec, ScalarSubquery}

class KeepFilterOrderSuite extends PlanSuite {
  private val largest = "(SELECT max(k) FROM u)"
  private def query(where: String) = s"SELECT k FROM t WHERE $where"

  /** Which conjuncts of the filter over `t` have a subquery, as the rule remembers it. */
  private def remembered(where: String): Seq[Boolean] =
    tables(KeepFilterOrder.Remember(tamis(query(where)))).head.purpose.subqueryAt

  test("a subquery before another conjunct is remembered, at its place") {
    val plan = tamis(query(s"k = $largest AND CAST(s AS INT) = 3"))
    val written = plan.collectFirst { case f: Filter =>
      ExpressionWriter.conjuncts(f.condition)
    }.get
    val order = written.map(SubqueryExpression.hasSubquery)
    assert(order != order.sorted)
    assertEquals(remembered(s"k = $largest AND CAST(s AS INT) = 3"), order)
  }

  test("nothing is remembered if the subqueries come last anyway, or if there are none") {
    Seq(s"CAST(s AS INT) = 3 AND k = $largest", "k = 3 AND v > 1", s"k = $largest").foreach {
      where =>
        assertUnchanged(KeepFilterOrder.Remember, tamis(query(where)))
    }
  }

  test("IN and EXISTS, which become joins, do not count") {
    assertUnchanged(
      KeepFilterOrder.Remember,
      tamis(query("k IN (SELECT k FROM u) AND CAST(s AS INT) = 3"))
    )
  }

  test("applied twice equals once") {
    assertIdempotent(
      KeepFilterOrder.Remember,
      tamis(query(s"k = $largest AND CAST(s AS INT) = 3"))
    )
  }

  /** The conjuncts of the physical filter over `t`. */
  private def planned(where: String): Seq[String] = {
    val filters = spark.sql(query(where)).queryExecution.executedPlan.collect {
      case f: FilterExec => ExpressionWriter.conjuncts(f.condition)
    }
    filters.headOption.toSeq.flatten.map { c =>
      if (c.exists(_.isInstanceOf[ScalarSubquery])) "subquery" else ExpressionWriter.sqlOf(c)
    }
  }

  test("the physical filter evaluates the subquery where it was written") {
    val cast = "(CAST(s AS INT) = 3)"
    assertEquals(
      planned(s"k = $largest AND CAST(s AS INT) = 3").filterNot(_.contains("NULL")),
      Seq("subquery", cast)
    )
    assertEquals(
      planned(s"CAST(s AS INT) = 3 AND k = $largest").filterNot(_.contains("NULL")),
      Seq(cast, "subquery")
    )
    assertEquals(
      planned(s"v > 1 AND k = $largest AND CAST(s AS INT) = 3").filterNot(_.contains("NULL")),
      Seq("(v > 1)", "subquery", cast)
    )
  }

  test("exact conjuncts leave the filter, and the subquery stays") {
    answer(StubAnswer(pushdown = "exact"))
    assertEquals(planned(s"k = $largest AND CAST(s AS INT) = 3"), Seq("subquery"))
  }
}
