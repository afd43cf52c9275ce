package io.tamis.rules.joins

import io.tamis.PlanSuite
import org.apache.spark.sql.catalyst.expressions.{
  And,
  Attribute,
  Expression,
  GreaterThan,
  Literal,
  Rand
}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LeafNode, LocalRelation, LogicalPlan}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** In the queries, `key` is the column whose origin is traced. */
class KeyLineageSuite extends PlanSuite {

  private def keyOf(plan: LogicalPlan): Attribute = plan.output.find(_.name == "key").get

  private def nameOf(leaf: LogicalPlan): String = leaf match {
    case relation: LogicalRelation =>
      relation.relation.asInstanceOf[HadoopFsRelation].location.rootPaths.head.getName
    case other => other.nodeName
  }

  private def text(key: Expression): String =
    key.transform { case a: Attribute => a.withQualifier(Nil) }.sql.replace("`", "")

  /** Where the values of the key come from, as text: `t.k`, or `t.k, all rows` if no row there may
    * be left out, or `t.k or -1` if -1 is added on the way.
    */
  private def origins(sql: String): Seq[String] = origins(optimized(sql))

  private def origins(plan: LogicalPlan): Seq[String] = {
    def from(key: Expression, plan: LogicalPlan, mayLose: Boolean, added: Seq[Any]): Seq[String] =
      plan match {
        case leaf: LeafNode =>
          val values = added.map(" or " + _).mkString
          Seq(s"${nameOf(leaf)}.${text(key)}$values" + (if (mayLose) "" else ", all rows"))
        case _ =>
          KeyLineage.step(key, plan).flatMap { s =>
            from(s.key, plan.children(s.child), mayLose && s.mayLose, added ++ s.added)
          }
      }
    from(keyOf(plan), plan, mayLose = true, Nil)
  }

  /** The relations whose rows may be left out by a condition on the key. */
  private def prunable(sql: String): Seq[String] = {
    val plan = optimized(sql)
    KeyLineage.below(keyOf(plan), plan) {
      case (key, leaf: LeafNode) => Some(s"${nameOf(leaf)}.${text(key)}")
      case _                     => None
    }
  }

  private def check(sql: String, expected: String*)(implicit loc: munit.Location): Unit = {
    assertEquals(origins(sql), expected.toSeq, optimized(sql).toString)
    val free = expected.filterNot(_.endsWith(", all rows"))
    // a step that keeps all rows ends the search
    if (free.size == expected.size) assertEquals(prunable(sql), free.toSeq)
    else assertEquals(prunable(sql), Nil)
  }

  test("a key of an inner join comes from its own side, whose rows may be left out") {
    check("SELECT t.k AS key, u.s FROM t JOIN u ON t.v = u.v", "t.k")
    check("SELECT u.k AS key, t.s FROM t JOIN u ON t.v = u.v", "u.k")
    check("SELECT u.k AS key, t.s FROM t CROSS JOIN u", "u.k")
  }

  test("a key made of both sides of a join has no known origin") {
    check("SELECT t.k + u.k AS key FROM t JOIN u ON t.v = u.v")
  }

  test("rows of the preserved side of an outer join may be left out") {
    check("SELECT t.k AS key, u.s FROM t LEFT JOIN u ON t.v = u.v", "t.k")
    check("SELECT u.k AS key, t.s FROM t RIGHT JOIN u ON t.v = u.v", "u.k")
  }

  test("rows of the null-supplying side may not be left out: others would be extended") {
    check("SELECT u.k AS key, t.s FROM t LEFT JOIN u ON t.v = u.v", "u.k, all rows")
    check("SELECT t.k AS key, u.s FROM t RIGHT JOIN u ON t.v = u.v", "t.k, all rows")
  }

  test("rows of neither side of a full join may be left out") {
    check("SELECT t.k AS key, u.s FROM t FULL JOIN u ON t.v = u.v", "t.k, all rows")
    check("SELECT u.k AS key, t.s FROM t FULL JOIN u ON t.v = u.v", "u.k, all rows")
  }

  test("a semi or anti join keeps or drops each row of its left side on its own") {
    check("SELECT k AS key FROM t LEFT SEMI JOIN u ON t.v = u.v", "t.k")
    check("SELECT k AS key FROM t LEFT ANTI JOIN u ON t.v = u.v", "t.k")
  }

  test("an expression over the null-supplying side adds its value over NULLs") {
    def joined(kind: String, key: String) =
      s"SELECT $key AS key FROM t $kind JOIN u ON t.v = u.v"
    check(joined("LEFT", "coalesce(u.k, -1L)"), "u.coalesce(k, -1L) or -1, all rows")
    check(joined("RIGHT", "coalesce(t.k, -2L)"), "t.coalesce(k, -2L) or -2, all rows")
    check(joined("FULL", "coalesce(t.k, -3L)"), "t.coalesce(k, -3L) or -3, all rows")
    check(joined("LEFT", "u.k + 1"), "u.(k + 1L), all rows")
    check(joined("LEFT", "coalesce(t.k, -1L)"), "t.coalesce(k, -1L)")
  }

  test("a key over NULLs whose equal values may differ, or that raises, has no known origin") {
    def left(key: String) = s"SELECT $key AS key FROM t LEFT JOIN u ON t.v = u.v"
    check(left("coalesce(CAST(u.k AS DOUBLE), 0D)"))
    check(left("coalesce(u.s, 'x') COLLATE UTF8_LCASE"))
    check(left("CAST(coalesce(u.s, 'x') AS INT)"))
  }

  test("a join condition with rand() lets no row be left out") {
    val plan = optimized("SELECT t.k AS key, u.s FROM t JOIN u ON t.v = u.v")
    val random = plan.transform { case join: Join =>
      val half = GreaterThan(Rand(Literal(1L)), Literal(0.5))
      join.copy(condition = join.condition.map(And(_, half)))
    }
    assertEquals((origins(plan), origins(random)), (Seq("t.k"), Seq("t.k, all rows")))
  }

  test("filters, projections, sorts and repartitions pass rows on one by one") {
    check("SELECT k + 1 AS key FROM t WHERE v > 3", "t.(k + 1L)")
    check("SELECT k AS key FROM (SELECT /*+ REPARTITION(3) */ * FROM t) WHERE v > 3", "t.k")
    check("SELECT k AS key FROM t ORDER BY v", "t.k")
  }

  test("rand() beside or below the key lets no row be left out") {
    check("SELECT k AS key, rand() AS r FROM t", "t.k, all rows")
    check("SELECT k AS key FROM t WHERE rand() > 0.5D", "t.k, all rows")
  }

  test("a key that is random or constant has no known origin") {
    check("SELECT k + rand() AS key FROM t")
    check("SELECT 1 AS key FROM t")
  }

  test("a key of grouping columns stays or goes with its group") {
    check("SELECT k AS key, count(*) FROM t GROUP BY k", "t.k")
    check("SELECT k + v AS key, max(s) FROM t GROUP BY k, v", "t.(k + CAST(v AS BIGINT))")
    check("SELECT DISTINCT k AS key, s FROM t", "t.k")
    check("SELECT k AS key, count(DISTINCT v), count(DISTINCT s) FROM t GROUP BY k", "t.k")
  }

  test("no row is left out of a group if its aggregates may raise an error for some of its rows") {
    check("SELECT k AS key, 10 / count(*) FROM t GROUP BY k", "t.k, all rows")
    check("SELECT k AS key, sum(k) FROM t GROUP BY k", "t.k, all rows")
    check("SELECT k AS key, sum(CAST(k AS INT)), avg(v) FROM t GROUP BY k", "t.k")
    check("SELECT k AS key FROM t GROUP BY k HAVING 10 / count(*) > 1", "t.k, all rows")
    check("SELECT k AS key FROM t GROUP BY k HAVING count(*) > 1", "t.k")
    val groups = "(SELECT k, v, min(v) AS n, max(s) AS s FROM t GROUP BY k, v)"
    check(s"SELECT k AS key, 10 / n FROM $groups", "t.k, all rows")
    check(s"SELECT k AS key, 10 / v FROM $groups", "t.k")
    withConf("spark.sql.ansi.enabled" -> "false") {
      check("SELECT k AS key, sum(k) FROM t GROUP BY k", "t.k")
    }
  }

  test("a key made of an aggregate function has no known origin") {
    check("SELECT max(k) AS key FROM t GROUP BY v")
    check("SELECT v + max(k) AS key FROM t GROUP BY v")
    check("SELECT max(k) AS key FROM t")
  }

  test("a group by a DOUBLE or a collation may have one of several values") {
    check("SELECT d AS key FROM (SELECT CAST(k AS DOUBLE) AS d FROM t) GROUP BY d")
    check("SELECT c AS key FROM (SELECT s COLLATE UTF8_LCASE AS c FROM t) GROUP BY c")
  }

  test("a random aggregate expression lets no row be left out") {
    check("SELECT k AS key, rand() FROM t GROUP BY k", "t.k, all rows")
  }

  test("a group of a stream may have its rows from earlier batches") {
    val plan = optimized("SELECT key, count(*) FROM (VALUES (1L), (2L)) AS x(key) GROUP BY key")
    val stream = plan.transform { case local: LocalRelation =>
      LocalRelation(local.output, local.data, isStreaming = true)
    }
    assertEquals((origins(plan), origins(stream)), (Seq("LocalRelation.key"), Nil))
  }

  test("the key of a UNION ALL comes from every branch") {
    val union =
      "SELECT k FROM t UNION ALL SELECT CAST(v AS BIGINT) FROM u UNION ALL SELECT k FROM p"
    check(s"SELECT k AS key FROM ($union)", "t.k", "u.CAST(v AS BIGINT)", "p.k")
  }

  test("one branch of a UNION ALL with a LIMIT keeps its rows, the others do not") {
    val union = "SELECT k FROM t UNION ALL (SELECT k FROM u LIMIT 5)"
    assertEquals(origins(s"SELECT k AS key FROM ($union)"), Seq("t.k", "u.k, all rows"))
    assertEquals(prunable(s"SELECT k AS key FROM ($union)"), Seq("t.k"))
  }

  test("below LIMIT, OFFSET and TABLESAMPLE other rows would take the place of missing ones") {
    check("SELECT k AS key FROM t LIMIT 5", "t.k, all rows")
    check("SELECT k AS key FROM t OFFSET 5", "t.k, all rows")
    check("SELECT k AS key FROM t TABLESAMPLE (50 PERCENT) REPEATABLE (1)", "t.k, all rows")
  }

  test("below a window no row may be left out, and what it computes has no known origin") {
    def window(key: String) =
      s"SELECT $key AS key, n FROM (SELECT *, sum(v) OVER (PARTITION BY v ORDER BY k) AS n FROM t)"
    check(window("k"), "t.k, all rows")
    check(window("n"))
    check(window("k + n"))
  }

  test("Expand and Generate are not followed") {
    check("SELECT k AS key, count(*) FROM t GROUP BY ROLLUP (k)")
    check("SELECT k AS key, count(*) FROM t GROUP BY k, v GROUPING SETS ((k, v), (k))")
    check("SELECT k AS key, w FROM t LATERAL VIEW explode(split(s, ' ')) AS w")
  }

  test("a key is traced through joins of joins and derived tables") {
    val sql = """SELECT key FROM (
      SELECT a.k + 1 AS key, b.s FROM (SELECT k, max(v) AS v FROM t WHERE k > 2 GROUP BY k) a
      LEFT JOIN u b ON a.k = b.k) JOIN p ON key = p.k"""
    check(sql, "t.(k + 1L)")
  }

  test("changedBelow replaces exactly the plans that the key comes from") {
    val plan = optimized("SELECT t.k AS key, u.s FROM t JOIN u ON t.v = u.v")
    def emptied(changed: LogicalPlan) =
      plan.collectLeaves().zip(changed.collectLeaves()).map { case (a, b) => !(a eq b) }
    val changed = KeyLineage.changedBelow(keyOf(plan), plan) {
      case (_, leaf: LogicalRelation) => Some(leaf.newInstance())
      case _                          => None
    }
    assertEquals(emptied(changed), Seq(true, false))
    assert(KeyLineage.changedBelow(keyOf(plan), plan)((_, _) => None) eq plan)
  }
}
