package io.tamis.rules.filters

import io.tamis.PlanSuite
import io.tamis.bridge.{StubAnswer, StubPlanner}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Union}

class SplitResidualSuite extends PlanSuite {
  private val sql = "SELECT count(*) FROM t WHERE s LIKE '%7%'"

  private def files(plan: LogicalPlan): Seq[String] =
    tables(plan).map(_.purpose.within.fold("all")(_.ordinals.toString))

  private def matching(ordinals: Int*): Unit =
    answer(StubAnswer(goal = StubAnswer.files(ordinals: _*)))

  test("each file is in one branch, and the result stays the same") {
    matching(0, 1)
    val plan = SplitResidual(tamis(sql))
    assertEquals(files(plan), Seq("{0, 1}", "{2, 3}"))
    assertEquals(rowsOf(plan), rowsOf(optimized(sql)))
  }

  test("files that the filter rules out are in no branch") {
    answer(StubAnswer(kept = Some(Seq(0, 1, 2)), goal = StubAnswer.files(0)))
    assertEquals(files(SplitResidual(tamis(sql))), Seq("{0}", "{1, 2}"))
  }

  test("the branches of the Union have different attributes, and the first one keeps its own") {
    matching(0)
    val before =
      tamis("SELECT max(k), max(x) FROM (SELECT k, v + 1 AS x FROM t WHERE s LIKE '%7%')")
    val plan = SplitResidual(before)
    val union = plan.collectFirst { case u: Union => u }.get
    val (first, second) = (union.children.head, union.children.last)
    assert(first.outputSet.intersect(second.outputSet).isEmpty)
    assertEquals(first.output, before.children.head.output)
    assertEquals(union.output.map(_.exprId), first.output.map(_.exprId))
    assert(plan.resolved)
    assert(second.children.forall(c => second.references.subsetOf(c.outputSet)))
  }

  test("both branches are parts of one split scan") {
    matching(0)
    val plan = SplitResidual(tamis(sql))
    assertEquals(tables(plan).map(t => SplitResidual.isPart(t.purpose)), Seq(true, true))
    assertEquals(tables(tamis(sql)).map(t => SplitResidual.isPart(t.purpose)), Seq(false))
  }

  test(
    "only an expensive filter, or one that reads a long column of its own, is worth a question"
  ) {
    Seq(
      "SELECT count(*) FROM t WHERE s = 'row 3'" -> true, // needs the strings
      "SELECT max(s) FROM t WHERE s = 'row 3'" -> false, // the aggregate needs them anyway
      "SELECT count(*) FROM t WHERE k > 5 AND v IN (1, 2)" -> false,
      "SELECT max(s) FROM t WHERE s LIKE '%7%'" -> true,
      "SELECT max(k) FROM t WHERE k % 3 = 1" -> true,
      "SELECT count(*) FROM t" -> false
    ).foreach { case (query, asks) =>
      matching(0)
      SplitResidual(tamis(query))
      assertEquals(StubPlanner.goals.nonEmpty, asks, query)
    }
  }

  test("plans that depend on the order or the number of rows stay as they are") {
    matching(0)
    assertNoGoals(
      SplitResidual,
      "SELECT s FROM t WHERE s LIKE '%7%'",
      "SELECT s FROM t WHERE s LIKE '%7%' ORDER BY k",
      "SELECT count(*) FROM (SELECT k FROM t WHERE s LIKE '%7%' LIMIT 5)",
      "SELECT count(*) FROM (SELECT k FROM t WHERE s LIKE '%7%' OFFSET 5)",
      "SELECT count(*) FROM t WHERE s LIKE '%7%' AND rand() > 0.5D",
      "SELECT max(k) + rand() FROM t WHERE s LIKE '%7%'",
      "SELECT count(*) FROM (SELECT k FROM t WHERE s LIKE '%7%') TABLESAMPLE (50 PERCENT) REPEATABLE (7)",
      "SELECT first(k) FROM t WHERE s LIKE '%7%'",
      "SELECT max(k), collect_list(v) FROM t WHERE s LIKE '%7%'",
      """SELECT sum(r) FROM (SELECT row_number() OVER (ORDER BY v) AS r FROM t WHERE s LIKE '%7%')
         WHERE r < 5""",
      "SELECT count(*), monotonically_increasing_id() FROM t WHERE s LIKE '%7%' GROUP BY 2"
    )
  }

  test("beside a join a partitioned table is not split, another one is") {
    matching(0)
    val plan = SplitResidual(
      tamis("""SELECT count(*) FROM p JOIN t ON p.k = t.k
               WHERE p.s LIKE '%7%' AND t.s LIKE '%7%'""")
    )
    assertEquals(files(plan), Seq("all", "{0}", "{1, 2, 3}"))
  }

  test("one file is not split") {
    matching(0)
    assertNoGoals(SplitResidual, "SELECT count(*) FROM p WHERE day = 1 AND s LIKE '%7%'")
  }

  test("a split that does not pay off leaves no trace, and any other reason is shown") {
    answer(StubAnswer(goal = StubAnswer.nothing("SPLIT_NOT_NEEDED")))
    assertUnchanged(SplitResidual, tamis(sql))
    answer(StubAnswer(goal = StubAnswer.nothing("INDEX_MISSING")))
    val plan = SplitResidual(tamis(sql))
    assertEquals((files(plan), failed(plan)), (Seq("all"), Seq("INDEX_MISSING")))
  }

  test("applied twice equals once") {
    matching(0)
    assertIdempotent(SplitResidual, tamis(sql))
  }

  test("the conf turns the rule off") {
    matching(0)
    withConf("spark.tamis.residualSplit.enabled" -> "false")(
      assertUnchanged(SplitResidual, tamis(sql))
    )
  }
}
