package io.tamis.rules.guards

import io.tamis.{PlanSuite, SharedTables}
import io.tamis.bridge.{PlannerUnavailable, StubAnswer}

class GuardsSuite extends PlanSuite with SharedTables {
  private val RequireFilter = "spark.tamis.requireFilter"
  private val AssertPruned = "spark.tamis.assertPruned"

  private def plan(sql: String): Unit = { spark.sql(sql).queryExecution.executedPlan; () }

  /** The message of the refusal. */
  private def refused(sql: String)(conf: (String, String)*): String =
    withConf(conf: _*)(intercept[QueryRefused](plan(sql)).getMessage)

  private def passes(sql: String)(conf: (String, String)*): Unit = withConf(conf: _*)(plan(sql))

  private def keeping(ordinals: Int*) = StubAnswer(kept = Some(ordinals))

  test("a scan of a guarded table that reads every file is refused") {
    val message = refused("SELECT k FROM guarded")(RequireFilter -> "guarded")
    assert(message.contains("guarded must skip a file"), message)
    assert(message.contains("no filter rules out a file"), message)
    val tried = refused("SELECT k FROM guarded WHERE k > 1")(RequireFilter -> "guarded")
    assert(tried.contains("its filters rule out no file (4 in all):\n  (k > 1L): "), tried)
  }

  test("a scan that leaves out a file passes, and so does one of another table") {
    passes("SELECT k FROM u")(RequireFilter -> "guarded")
    answer(keeping(0, 1, 2))
    passes("SELECT k FROM guarded WHERE k > 1")(RequireFilter -> "guarded")
  }

  test("scans in subqueries and on both sides of a join are guarded") {
    Seq(
      "SELECT k FROM u WHERE k > (SELECT max(k) FROM guarded)",
      "SELECT u.k FROM u JOIN guarded g ON u.k = g.k",
      "SELECT k FROM u UNION ALL SELECT k FROM guarded"
    ).foreach(sql => refused(sql)(RequireFilter -> "guarded"))
  }

  test("a goal that leaves out files is enough") {
    answer(StubAnswer(goal = StubAnswer.files(0)))
    passes("SELECT k FROM guarded LIMIT 3")(RequireFilter -> "guarded")
  }

  test("both parts of a split scan together read the table") {
    answer(StubAnswer(goal = StubAnswer.files(0, 1)))
    refused("SELECT count(*) FROM guarded WHERE s LIKE '%7%'")(RequireFilter -> "guarded")
  }

  test("with a single file any inexact predicate is enough, IS NOT NULL is not") {
    val one = s"parquet.`$directory/p/day=1`"
    passes(s"SELECT k FROM $one WHERE k > 1")(RequireFilter -> "*")
    refused(s"SELECT k FROM $one WHERE k IS NOT NULL")(RequireFilter -> "*")
    answer(StubAnswer(pushdown = "exact"))
    refused(s"SELECT k FROM $one WHERE k > 1")(RequireFilter -> "*")
  }

  test("nothing is refused if the planner fails, observes or is off") {
    answer(throw new PlannerUnavailable("the test says so"))
    passes("SELECT k FROM guarded WHERE k > 1")(RequireFilter -> "guarded")
    answer(StubAnswer())
    val sql = "SELECT k FROM guarded WHERE k > 1"
    passes(sql)(RequireFilter -> "guarded", "spark.tamis.mode" -> "observe")
    passes(sql)(RequireFilter -> "guarded", "spark.tamis.enabled" -> "false")
  }

  test("a table is named by its name, with its database, by its path, or by *") {
    val spellings = Seq("guarded", "GUARDED", "default.guarded", s"$directory/t", "*", "x, guarded")
    spellings.foreach(written => refused("SELECT k FROM guarded")(RequireFilter -> written))
    Seq("guard", "other.guarded", s"$directory", "x").foreach { written =>
      passes("SELECT k FROM guarded")(RequireFilter -> written)
    }
    refused(s"SELECT k FROM parquet.`$directory/t`")(RequireFilter -> s"file:$directory/t")
  }

  test("a relation that stays Spark's own is guarded too") {
    val orc = s"orc.`$directory/orc`"
    spark.range(10).write.mode("overwrite").orc(s"$directory/orc")
    refused(s"SELECT id FROM $orc")(RequireFilter -> "*")
    val filtered = s"SELECT id FROM $orc WHERE id > 1"
    val off = "spark.tamis.fileIndexSwap.enabled" -> "false"
    val message = refused(filtered)(RequireFilter -> "*", off)
    assert(
      message.contains("Spark reads all of its files: spark.tamis.fileIndexSwap.enabled is false"),
      message
    )
    answer(throw new PlannerUnavailable("the test says so"))
    passes(filtered)(RequireFilter -> "*")
  }

  test("an asserted conjunct that prunes no file is refused, with what to do") {
    answer(StubAnswer(pruned = Some(0)))
    val message = refused("SELECT k FROM t WHERE k > 1")(AssertPruned -> "k > 1")
    assert(message.contains("(k > 1L) rules out no file of"), message)
    assert(message.contains("(4 in all)"), message)
    assert(message.contains("first run: SET spark.tamis.assertPruned="), message)
    refused("SELECT k FROM t WHERE k > 1")(AssertPruned -> "v = 1; k")
  }

  test("an asserted conjunct whose effect is not known is refused, and the message says so") {
    answer(throw new PlannerUnavailable("the test says so"))
    val message = refused("SELECT k FROM t WHERE k > 1")(AssertPruned -> "k > 1")
    assert(message.contains("it is not known whether (k > 1L) rules out a file of"), message)
    assert(message.contains("the test says so"), message)
  }

  test("an asserted conjunct that prunes, or that the query lacks, passes") {
    answer(StubAnswer(pruned = Some(1)))
    passes("SELECT k FROM t WHERE k > 1")(AssertPruned -> "k > 1")
    answer(StubAnswer(pruned = Some(0)))
    Seq("k > 2", "v", "v > 1", "unknown_column", "unknown_column = 1").foreach { text =>
      passes("SELECT k FROM t WHERE k > 1")(AssertPruned -> text)
    }
    passes("SELECT k FROM t")(AssertPruned -> "k")
    passes("SELECT k FROM t WHERE k IS NOT NULL")(AssertPruned -> "k")
  }

  test("an assertion that is not valid SQL is refused") {
    val message = refused("SELECT k FROM t WHERE k > 1")(AssertPruned -> "k > > 1")
    assert(message.contains("'k > > 1' is not valid SQL"), message)
  }
}
