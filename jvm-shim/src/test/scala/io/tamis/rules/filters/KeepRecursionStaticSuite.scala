package io.tamis.rules.filters

import io.tamis.PlanSuite
import io.tamis.rules.relations.TamisRelation
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.{
  And,
  DynamicPruningExpression,
  GreaterThan,
  Literal
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

class KeepRecursionStaticSuite extends PlanSuite {
  private val recursion =
    """WITH RECURSIVE r(n) AS
       (SELECT 1L UNION ALL SELECT t.k + 1 FROM r JOIN t ON t.k = r.n WHERE t.k < 5)
       SELECT r.n FROM r JOIN u ON r.n = u.k"""

  private def recursive: LogicalPlan = {
    assume(spark.version >= "4.1", "4.0 has no recursive queries")
    tamis(recursion)
  }

  private def inRecursion(plan: LogicalPlan): Map[String, Boolean] = tables(plan).map { t =>
    t.relation.location.rootPaths.head.getName -> t.purpose.inRecursion
  }.toMap

  /** The plan with a run-time filter over each scan, beside `k > 1`. */
  private def filtered(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case relation @ TamisRelation(_) =>
      val own = GreaterThan(relation.output.head, Literal(1L))
      Filter(And(own, DynamicPruningExpression(Literal.TrueLiteral)), relation)
  }

  private def runtimeFilters(plan: LogicalPlan): Map[String, Int] = plan.collect {
    case Filter(condition, TamisRelation(table)) =>
      val count =
        ExpressionWriter.conjuncts(condition).count(_.isInstanceOf[DynamicPruningExpression])
      table.relation.location.rootPaths.head.getName -> count
  }.toMap

  test("scans of the steps take no run-time filters, and those beside the recursion do") {
    assertEquals(inRecursion(KeepRecursionStatic(recursive)), Map("t" -> true, "u" -> false))
  }

  test("run-time filters leave the steps, and the other conjuncts stay") {
    val plan = filtered(recursive)
    assertEquals(runtimeFilters(plan), Map("t" -> 1, "u" -> 1))
    assertEquals(runtimeFilters(KeepRecursionStatic(plan)), Map("t" -> 0, "u" -> 1))
  }

  test("a filter with nothing but run-time filters disappears") {
    val plan = recursive.transformUp { case relation @ TamisRelation(_) =>
      Filter(DynamicPruningExpression(Literal.TrueLiteral), relation)
    }
    def filters(p: LogicalPlan) = p.collect { case f: Filter => f }.size
    assertEquals(filters(KeepRecursionStatic(plan)), filters(plan) - 1)
  }

  test("other plans stay as they are") {
    assertUnchanged(KeepRecursionStatic, tamis("SELECT t.k FROM t JOIN u ON t.k = u.k"))
  }

  test("applied twice equals once") {
    assertIdempotent(KeepRecursionStatic, filtered(recursive))
  }
}
