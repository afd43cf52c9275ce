package io.tamis.report

import io.tamis.PlanSuite
import io.tamis.bridge.StubAnswer
import io.tamis.rules.relations.FileRelation
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.parquet.HoodieFileGroupReaderBasedFileFormat

class LeftToSparkSuite extends PlanSuite {

  /** The codes of the reasons for each relation. */
  private def left(sql: String): Seq[Seq[String]] =
    LeftToSpark.of(spark.sql(sql).queryExecution).map { relation =>
      val reasons = relation.path("reasons")
      (0 until reasons.size).map(i => reasons.get(i).path("code").asText)
    }

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.table("t").repartition(2).write.mode("overwrite").csv(s"$directory/left")
    spark.read
      .schema("k BIGINT, v INT, s STRING")
      .csv(s"$directory/left")
      .createOrReplaceTempView("left_csv")
  }

  test("a scan of tamis, and a source without files, are not left") {
    assertEquals(left("SELECT k FROM t WHERE k > 1"), Nil)
    assertEquals(left("SELECT id FROM range(3)"), Nil)
  }

  test("a relation has the reasons why it is left to Spark and why its file index is not swapped") {
    assertEquals(left("SELECT k FROM left_csv"), Seq(Seq("NOT_PARQUET", "NO_FILTER")))
    assertEquals(
      left("SELECT k FROM left_csv WHERE rand() > 0.5D"),
      Seq(Seq("NOT_PARQUET", "NO_FILTER"))
    )
    assertEquals(
      left("SELECT k FROM left_csv WHERE k <=> (SELECT max(k) FROM u)").map(_.last),
      Seq("FILTER_WITHOUT_FILE_COLUMNS")
    )
    withConf("spark.tamis.fileIndexSwap.enabled" -> "false") {
      assertEquals(
        left("SELECT k FROM left_csv WHERE k > 1"),
        Seq(Seq("NOT_PARQUET", "FILE_INDEX_SWAP_IS_OFF"))
      )
    }
  }

  test("a relation that nothing is gained for says so; a swapped one is not left") {
    val sql = "SELECT k FROM left_csv WHERE k > 1"
    assertEquals(left(sql), Seq(Seq("NOT_PARQUET", "NOTHING_GAINED")))
    answer(StubAnswer(kept = Some(Seq(0))))
    assertEquals(left(sql), Nil)
  }

  test("if tamis is off, that is the only reason") {
    Seq("spark.tamis.enabled" -> "false", "spark.tamis.mode" -> "off").foreach { off =>
      withConf(off) {
        assertEquals(left("SELECT k FROM t"), Seq(Seq("TAMIS_IS_OFF")))
        assertEquals(left("SELECT k FROM left_csv"), Seq(Seq("TAMIS_IS_OFF")))
      }
    }
  }

  test("relations of subqueries are listed, and sources that are not files") {
    assertEquals(left("SELECT k FROM t WHERE k > (SELECT max(k) FROM left_csv)").size, 1)
    withConf("spark.sql.sources.useV1SourceList" -> "parquet") {
      spark.read.csv(s"$directory/left").createOrReplaceTempView("left_v2")
      val codes = Seq("FILE_SOURCE_V2", "ONLY_IMPLIED_RANGES")
      assertEquals(left("SELECT * FROM left_v2"), Seq(codes))
      withConf("spark.tamis.impliedFilters.enabled" -> "false") {
        assertEquals(left("SELECT * FROM left_v2"), Seq(codes.take(1)))
      }
    }
  }

  test("a Hudi table gets ranges only, and text nothing") {
    val format = new HoodieFileGroupReaderBasedFileFormat
    val plan = optimized("SELECT * FROM t WHERE k % 31 = 4")
    val relation = plan.collectFirst { case r @ FileRelation(_, files) =>
      r.asInstanceOf[LogicalRelation].copy(relation = files.copy(fileFormat = format)(spark))
    }.get
    val execution = spark.sessionState.executePlan(relation)
    assertEquals(
      LeftToSpark.of(execution).map(_.path("reason").asText),
      Seq(
        "its format is not Spark's own Parquet, ORC, CSV or JSON, and tamis only adds the ranges " +
          "that its filters imply"
      )
    )
    spark.range(3).selectExpr("string(id) AS value").write.mode("overwrite").text(s"$directory/x")
    spark.read.text(s"$directory/x").createOrReplaceTempView("left_text")
    assertEquals(left("SELECT * FROM left_text"), Seq(Seq("UNSUPPORTED_FORMAT")))
  }
}
