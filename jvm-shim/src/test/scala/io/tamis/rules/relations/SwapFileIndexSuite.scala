package io.tamis.rules.relations

import io.tamis.PlanSuite
import io.tamis.bridge.{StubAnswer, StubPlanner}
import io.tamis.planning.LeftInPlan
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

class SwapFileIndexSuite extends PlanSuite {
  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.sql(
      s"CREATE TABLE IF NOT EXISTS buckets(k BIGINT, v INT, s STRING) USING parquet " +
        s"CLUSTERED BY (v) INTO 2 BUCKETS LOCATION '$directory/buckets'"
    )
    spark.table("t").repartition(4).write.mode("overwrite").insertInto("buckets")
  }

  private def swapped(sql: String): LogicalPlan = SwapFileIndex(optimized(sql))

  /** For each relation with an index of tamis, how many files it lists. */
  private def listed(plan: LogicalPlan): Seq[Int] =
    plan.collectWithSubqueries { case FileRelation(_, SwapFileIndex(index)) => index.kept.count }

  private def conditions(plan: LogicalPlan): Seq[String] =
    plan
      .collect { case Filter(c, _) => ExpressionWriter.conjuncts(c) }
      .flatten
      .map(ExpressionWriter.sqlOf)

  private val sql = "SELECT s FROM buckets WHERE k > 5"

  test("a relation under a filter lists the files of the answer") {
    answer(StubAnswer(kept = Some(Seq(0))))
    val plan = swapped(sql)
    assertEquals(listed(plan), Seq(1))
    assertEquals(conditions(plan), Seq("(k IS NOT NULL)", "(k > 5L)"))
  }

  test("exact conjuncts leave the filter, except those that choose buckets") {
    answer(StubAnswer(kept = Some(Seq(0)), pushdown = "exact"))
    assertEquals(conditions(swapped(sql)), Nil)
    val plan = swapped("SELECT s FROM buckets WHERE k > 5 AND v = 3")
    assertEquals(conditions(plan), Seq("(v = 3)"))
    val decided = plan.collect { case FileRelation(_, SwapFileIndex(index)) => index.decision }.head
    val reasons = decided.conjuncts.flatMap(_.reason).map(_.code)
    assertEquals(reasons, Seq(LeftInPlan.NeededForBuckets.code))
  }

  test("relations without a usable filter keep their index, and nothing is asked") {
    answer(StubAnswer(kept = Some(Seq(0))))
    Seq(
      "SELECT s FROM buckets",
      "SELECT s FROM buckets WHERE k > 5 AND rand() > 0.5D",
      "SELECT s FROM buckets WHERE k <=> (SELECT max(v) FROM u)",
      "SELECT s FROM buckets WHERE _metadata.file_size > 5"
    ).foreach { sql =>
      val plan = optimized(sql)
      assertEquals(listed(SwapFileIndex(plan)), Nil, sql)
      assertEquals(StubPlanner.questions, Nil, sql)
    }
  }

  test("a swapped relation is not decided again for the same filter") {
    answer(StubAnswer(kept = Some(Seq(0))))
    assertIdempotent(SwapFileIndex, optimized(sql))
    assertEquals(StubPlanner.questions.size, 1)
  }

  test("another filter is asked about, among the files that are left") {
    answers(question =>
      if (!question.path("conjuncts").toString.contains("LessThan"))
        StubAnswer(kept = Some(Seq(0, 1)))
      else StubAnswer(kept = Some(Seq(1, 2)))
    )
    val once = swapped(sql).collectFirst { case f: Filter => f }.get
    val more = optimized("SELECT s FROM buckets WHERE k < 20").collectFirst { case f: Filter =>
      f
    }.get
    val renamed = more.condition.transform {
      case a: org.apache.spark.sql.catalyst.expressions.Attribute =>
        once.child.output.find(_.name == a.name).get
    }
    assertEquals(listed(SwapFileIndex(Filter(renamed, once.child))), Seq(1))
  }

  test("files of another format whose index rules nothing out keep their index") {
    spark.table("t").repartition(2).write.mode("overwrite").json(s"$directory/json")
    val ofJson = s"SELECT s FROM json.`$directory/json` WHERE k > 5"
    assertEquals(listed(swapped(ofJson)), Nil)
    answer(StubAnswer(kept = Some(Seq(0))))
    assertEquals(listed(swapped(ofJson)), Seq(1))
  }

  test("the conf turns the rule off") {
    withConf("spark.tamis.fileIndexSwap.enabled" -> "false") {
      assertUnchanged(SwapFileIndex, optimized(sql))
    }
    assertEquals(StubPlanner.questions, Nil)
  }
}
