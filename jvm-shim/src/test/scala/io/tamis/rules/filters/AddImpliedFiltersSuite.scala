package io.tamis.rules.filters

import io.tamis.PlanSuite
import io.tamis.bridge.StubAnswer
import io.tamis.rules.relations.{Eligibility, FileRelation}
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, LogicalPlan, Union}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.parquet.HoodieFileGroupReaderBasedFileFormat

class AddImpliedFiltersSuite extends PlanSuite {

  /** An interval that no test asks about before: answers are remembered for equal conjuncts. */
  private def implied(column: String, lower: Long, upper: Long): StubAnswer = StubAnswer(
    implied = s"""[{"column":["$column"],"intervals":[{"lower":$lower,"upper":$upper}]}]"""
  )

  /** The conjuncts that the rule adds. */
  private def added(plan: LogicalPlan): Seq[String] = {
    def conjuncts(plan: LogicalPlan) =
      plan
        .collect { case Filter(c, _) => ExpressionWriter.conjuncts(c) }
        .flatten
        .map(ExpressionWriter.sqlOf)
    conjuncts(AddImpliedFilters(plan)).diff(conjuncts(plan))
  }

  test("the ranges come last in the filter over a relation of Spark") {
    answer(implied("k", 3, 5))
    val plan = optimized("SELECT s FROM t WHERE k % 11 = 4")
    assertEquals(added(plan), Seq("(k >= 3L)", "(k <= 5L)"))
    assertIdempotent(AddImpliedFilters, plan)
  }

  test("a filter over a table of tamis is left alone") {
    answer(implied("k", 3, 5))
    assertUnchanged(AddImpliedFilters, tamis("SELECT s FROM t WHERE k % 13 = 4"))
  }

  test("ORC gets the range with a margin, CSV the range itself, JSON none") {
    answer(implied("k", 3, 5))
    Seq("orc", "csv", "json").foreach { format =>
      spark
        .range(9)
        .selectExpr("id AS k")
        .write
        .mode("overwrite")
        .format(format)
        .save(s"$directory/of_$format")
      spark.read
        .format(format)
        .schema("k BIGINT")
        .load(s"$directory/of_$format")
        .createOrReplaceTempView(s"of_$format")
    }
    def of(format: String) = added(optimized(s"SELECT k FROM of_$format WHERE k % 17 = 4"))
    assertEquals(of("orc"), Seq("(k >= 2L)", "(k <= 6L)"))
    assertEquals(of("csv"), Seq("(k >= 3L)", "(k <= 5L)"))
    assertEquals(of("json"), Nil)
  }

  test("a Hudi table gets the range with a margin, and is left to Spark otherwise") {
    answer(implied("k", 3, 5))
    val format = new HoodieFileGroupReaderBasedFileFormat
    val plan = optimized("SELECT * FROM t WHERE k % 29 = 4")
    val (condition, relation) = plan.collectFirst { case Filter(c, r @ FileRelation(_, files)) =>
      c -> r.asInstanceOf[LogicalRelation].copy(relation = files.copy(fileFormat = format)(spark))
    }.get
    assertEquals(added(Filter(condition, relation)), Seq("(k >= 2L)", "(k <= 6L)"))
    val reasons = Eligibility.refusal(relation) ++ Eligibility.swapRefusal(relation)
    assertEquals(reasons.map(_.code).toSeq, Seq("NOT_PARQUET", "UNSUPPORTED_FORMAT"))
  }

  test("a reader that raises errors for malformed records sees every record") {
    answer(implied("k", 3, 5))
    spark.range(9).write.mode("overwrite").csv(s"$directory/strict")
    spark.read
      .schema("k BIGINT")
      .option("mode", "FAILFAST")
      .csv(s"$directory/strict")
      .createOrReplaceTempView("strict")
    assertEquals(added(optimized("SELECT k FROM strict WHERE k % 17 = 4")), Nil)
  }

  test("partition columns get no range: Spark prunes by them itself") {
    answer(implied("day", 1, 2))
    assertEquals(added(optimized("SELECT s FROM p WHERE k + day % 3 = 1")), Nil)
  }

  test("random filters, streams and filters without a function get none") {
    answer(implied("k", 3, 5))
    assertEquals(added(optimized("SELECT s FROM t WHERE k % 19 = 4 AND rand() > 0.5D")), Nil)
    assertEquals(added(optimized("SELECT s FROM t WHERE k = 4 AND v IN (1, 2)")), Nil)
    val read = optimized("SELECT k FROM t WHERE k % 19 = 5")
    val stream = LocalRelation(read.output.map(_.newInstance()), Nil, isStreaming = true)
    assertEquals(added(Union(read, stream)), Nil)
  }

  test("confs: off, observing") {
    answer(implied("k", 3, 5))
    val plan = optimized("SELECT s FROM t WHERE k % 23 = 4")
    Seq(
      "spark.tamis.impliedFilters.enabled" -> "false",
      "spark.tamis.mode" -> "observe",
      "spark.tamis.enabled" -> "false"
    ).foreach(off => withConf(off)(assertUnchanged(AddImpliedFilters, plan)))
    assertEquals(added(plan).size, 2)
  }
}
