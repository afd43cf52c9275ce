package io.tamis.rules.guards

import io.tamis.{PlanSuite, SharedTables}
import io.tamis.bridge.{StubAnswer, Warnings}

class GuardNamesSuite extends PlanSuite with SharedTables {

  /** The warnings about names while a query over `t` is planned. */
  private def warned(key: String, written: String): Seq[String] = {
    val before = Warnings.all.size
    withConf(s"spark.tamis.$key" -> written) {
      spark.sql("SELECT k FROM t WHERE k > 1").queryExecution.sparkPlan
    }
    Warnings.all.drop(before).filter(_.contains(s"spark.tamis.$key"))
  }

  test("a required table that does not exist is reported, once") {
    val warnings = warned("requireFilter", "no_such_table")
    assertEquals(warnings.size, 1)
    assert(
      warnings.head.contains("'no_such_table', a table that does not exist yet"),
      warnings.head
    )
    assertEquals(warned("requireFilter", "no_such_table"), Nil)
  }

  test("so is a path that does not exist, a view, another catalog, and text that is not a name") {
    Seq(
      s"$directory/nowhere" -> "a path that does not exist yet: the entry has no effect until it does",
      "guarded_view" -> "a view, which it does not check: name the tables",
      "u" -> "a view, which it does not check: name the tables",
      "nessie.db.guarded.x" -> "whose catalog this session does not have: correct the name",
      "a b" -> "which is not the name or path of a table: correct it",
      "nowhere.guarded" -> "a table that does not exist",
      "spark_catalog.default.misspelled" -> "a table that does not exist"
    ).foreach { case (written, problem) =>
      assert(warned("requireFilter", written).exists(_.contains(problem)), written)
    }
  }

  test("tables that may be scanned are not reported") {
    answer(StubAnswer(kept = Some(Seq(0)))) // * guards the table of the query
    Seq(
      "guarded",
      "Guarded",
      "default.guarded",
      "spark_catalog.default.guarded",
      s"$directory/u",
      "*"
    ).foreach(written => assertEquals(warned("requireFilter", written), Nil, written))
  }

  test("columns that no scanned table has are reported") {
    assert(warned("assertPruned", "no_such_column").exists(_.contains("'no_such_column'")))
    assertEquals(warned("assertPruned", "v; s = 'x'; k > 7"), Nil)
  }
}
