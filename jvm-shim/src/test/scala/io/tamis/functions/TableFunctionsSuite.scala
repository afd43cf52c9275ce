package io.tamis.functions

import io.tamis.PlanSuite
import io.tamis.bridge.{PlannerUnavailable, StubAnswer}

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Literal}
import org.apache.spark.sql.types.StringType

class TableFunctionsSuite extends PlanSuite {
  private def rows(sql: String): Seq[Row] = spark.sql(sql).collect().toSeq

  private def message(body: => Any): String = {
    val e = intercept[Exception](body)
    Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString("; ")
  }

  test("tamis_echo shows what Spark pushes to a scan") {
    val echo = s"tamis_echo('$directory/t')"
    val row = rows(s"SELECT * FROM $echo WHERE k > 3 AND s LIKE 'row%'").head
    assertEquals(
      row.getSeq[String](row.fieldIndex("pushed_filters")).filterNot(_.contains("NULL")),
      Seq("(k > 3L)", "startswith(s, 'row')")
    )
    assertEquals(row.getSeq[String](row.fieldIndex("pushed_columns")), Seq("k", "v", "s"))
    assert(row.isNullAt(row.fieldIndex("k")))
    val narrow = rows(s"SELECT s, pushed_columns, pushed_limit FROM $echo LIMIT 2").head
    assertEquals((narrow.getSeq[String](1), narrow.get(2)), (Seq("s"), 2))
    val first = rows(s"SELECT pushed_order, pushed_limit FROM $echo ORDER BY k DESC LIMIT 2").head
    assert(first.getSeq[String](0).head.contains("DESC"), first)
  }

  test("tamis_echo shows run-time filters, and its row matches their values") {
    val echo = s"tamis_echo('$directory/t')"
    val sql =
      s"SELECT e.pushed_runtime_filters FROM $echo e JOIN t ON e.k = t.k WHERE t.s = 'row 7'"
    withConf("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly" -> "false") {
      assert(rows(sql).head.getSeq[String](0).exists(_.contains("IN")))
    }
  }

  test("tamis_echo refuses a table that has one of its columns") {
    spark.sql("SELECT 1 AS pushed_limit").createOrReplaceTempView("taken")
    assert(message(rows("SELECT * FROM tamis_echo('taken')")).contains("cannot be used on taken"))
  }

  private def explained(sql: String): Seq[(Any, String, String)] =
    rows(s"""SELECT scan, what, sql FROM tamis_explain("$sql")""").map { row =>
      (row.get(0), row.getString(1), row.getString(2))
    }

  test("tamis_explain has a row for each scan, goal and conjunct") {
    answer(StubAnswer(goal = StubAnswer.files(0)))
    assertEquals(
      explained("SELECT k FROM t WHERE k > 3 LIMIT 2"),
      Seq(
        (1, "scan", null),
        (1, "goal", "LIMIT 2"),
        (1, "inexact", "(k IS NOT NULL)"),
        (1, "inexact", "(k > 3L)")
      )
    )
  }

  test("tamis_explain has the numbers of files, and what each conjunct prunes") {
    answer(StubAnswer(kept = Some(Seq(0)), pruned = Some(3)))
    val columns = "what, files_kept, files_total, files_pruned, files_read"
    assertEquals(
      rows(s"SELECT $columns FROM tamis_explain('SELECT k FROM t WHERE k > 3')").map(_.toString),
      Seq("[scan,1,4,null,1]", "[inexact,null,null,3,null]", "[inexact,null,null,3,null]")
    )
  }

  test("tamis_explain lists relations that are left to Spark, and answers from statistics") {
    spark.range(3).write.mode("overwrite").csv(s"$directory/csv")
    assertEquals(explained(s"SELECT * FROM csv.`$directory/csv`").map(_._2), Seq("left to spark"))
    answer(
      StubAnswer(goal =
        """{"kind":"aggregate","files":{"form":"none"},"covered":4,"groups":[{"key":0,"values":[9]}]}"""
      )
    )
    assertEquals(explained("SELECT count(*) FROM t"), Seq((null, "answered", "count(1)")))
  }

  test("tamis_explain says why there was no pruning") {
    answer(throw new PlannerUnavailable("the test says so"))
    val reasons = rows("SELECT reason FROM tamis_explain('SELECT k FROM t WHERE k > 3')")
    assert(reasons.head.getString(0).contains("the test says so"), reasons)
  }

  test("tamis_explain plans commands and does not run them") {
    explained("CREATE TABLE never_created AS SELECT k FROM t")
    assert(!spark.catalog.tableExists("never_created"))
  }

  test("tamis_files lists every file even if no statistics are known") {
    answer(StubAnswer(kept = Some(Seq(0, 2))))
    val files = rows(
      "SELECT scan, kept, read, verdict, rows, decided_by FROM " +
        "tamis_files('SELECT k FROM t WHERE k > 3')"
    )
    assertEquals(files.map(_.getBoolean(1)), Seq(true, false, true, false))
    assertEquals(files.map(_.getBoolean(2)), Seq(true, false, true, false))
    assert(files.forall(f => f.getInt(0) == 1 && f.isNullAt(3) && f.isNullAt(4)))
    assertEquals(
      files.map(f => Option(f.getString(5)).nonEmpty),
      Seq(false, true, false, true)
    )
  }

  test("tamis_files names the conjunct that a partition does not satisfy") {
    val files =
      rows("SELECT file, decided_by FROM tamis_files('SELECT k FROM p WHERE k > 3 AND day = 1')")
    val reasons = files.map(f => f.getString(0).contains("day=1") -> Option(f.getString(1)))
    assertEquals(
      reasons.toSet,
      Set[(Boolean, Option[String])](true -> None, false -> Some("(day = 1)"))
    )
  }

  test("the argument is one constant text") {
    val notText = Seq(
      Nil,
      Seq(Literal(1)),
      Seq(Literal(null, StringType)),
      Seq(Literal("SELECT 1"), Literal("SELECT 2")),
      Seq(AttributeReference("s", StringType)())
    )
    Seq[TableFunction](ExplainFunction, FilesFunction, PushdownFunction).foreach { f =>
      notText.foreach { arguments =>
        assert(message(f(arguments)).contains("takes one string literal"), f.name)
      }
    }
  }

  test("tamis_history takes no argument, and fails without the sidecar") {
    assert(message(HistoryFunction(Seq(Literal("x")))).contains("takes no argument"))
    assert(message(rows("SELECT * FROM tamis_history()")).contains("sidecar is not available"))
  }
}
