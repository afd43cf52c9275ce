package io.tamis.rules.filters

import io.tamis.PlanSuite
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.{And, DynamicPruningExpression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.Filter

class PlainConjunctsSuite extends PlanSuite {
  private def condition(where: String) =
    tamis(s"SELECT k FROM t WHERE $where").collectFirst { case f: Filter => f.condition }.get

  private def plain(where: String): Seq[String] =
    PlainConjuncts.of(condition(where)).map(ExpressionWriter.sqlOf)

  test("conjuncts with subqueries or random values are left out, the others are kept in order") {
    val known = Seq("(k IS NOT NULL)", "(v IS NOT NULL)", "(v > 1)", "((k < 5L) OR (v = 3))")
    assertEquals(plain("v > 1 AND (k < 5 OR v = 3) AND k IS NOT NULL").sorted, known.sorted)
    assertEquals(plain("rand() > 0.5D"), Nil)
    assertEquals(plain("k = (SELECT max(k) FROM u)"), Seq("(k IS NOT NULL)"))
    assertEquals(plain("k IN (SELECT k FROM u) AND k > 1"), Seq("(k IS NOT NULL)", "(k > 1L)"))
    assertEquals(plain("NOT (v > 1 AND rand() > 0.5D)"), Nil)
  }

  test("a run-time filter is left out, also inside of another predicate") {
    val own = condition("k > 1")
    val runtime = DynamicPruningExpression(Literal.TrueLiteral)
    assertEquals(PlainConjuncts.of(And(own, runtime)), PlainConjuncts.of(own))
    assert(!PlainConjuncts.isPlain(org.apache.spark.sql.catalyst.expressions.Not(runtime)))
  }
}
