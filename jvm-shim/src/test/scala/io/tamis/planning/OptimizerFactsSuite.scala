package io.tamis.planning

import io.tamis.PlanSuite
import io.tamis.bridge.{PlannerUnavailable, StubAnswer, StubPlanner}

import org.apache.spark.sql.catalyst.expressions.{AttributeMap, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.{ColumnStat, Histogram, HistogramBin, Statistics}
import org.apache.spark.sql.execution.datasources.v2.V2ScanRelationPushDown
import org.apache.spark.sql.types.LongType

class OptimizerFactsSuite extends PlanSuite {
  private val Cbo = "spark.sql.cbo.enabled" -> "true"

  private def facts(
      columns: String = """{"least":0,"greatest":39,"nulls":0,"distinct":40}""",
      rows: String = "40",
      counts: Boolean = true
  ): StubAnswer = StubAnswer(goal =
    s"""{"kind":"facts","rows":$rows,"counts_distinct":$counts,"columns":[$columns]}"""
  )

  /** The estimate for a query over one table; also builds its scan. */
  private def estimate(sql: String = "SELECT k FROM t"): Statistics =
    V2ScanRelationPushDown(tamis(sql)).stats

  private def columnOf(s: Statistics): Option[ColumnStat] = s.attributeStats.values.headOption

  test("without cost-based optimization nothing is asked and no row count is reported") {
    answer(facts())
    assertEquals(estimate().rowCount, None)
    assertEquals(StubPlanner.goals, Nil)
  }

  test("the facts of the columns of the scan are asked for, and reported") {
    answer(facts())
    withConf(Cbo) {
      val s = estimate()
      assertEquals(s.rowCount, Some(BigInt(40)))
      assertEquals(
        columnOf(s).map(c => (c.distinctCount, c.min, c.max, c.nullCount, c.avgLen)),
        Some((Some(BigInt(40)), Some(0L), Some(39L), Some(BigInt(0)), Some(8L)))
      )
      val goal = StubPlanner.goals.head
      assertEquals(goal.path("kind").asText, "facts")
      assertEquals(goal.path("columns").size, 1)
      assertEquals(goal.at("/columns/0/p/0").asText, "k")
    }
    withConf("spark.sql.cbo.planStats.enabled" -> "true") { // nodes above the scan drop it
      val leaf = V2ScanRelationPushDown(tamis("SELECT k FROM t")).collectLeaves().head
      assertEquals(leaf.stats.rowCount, Some(BigInt(40)))
    }
  }

  test("text has no bounds, and the default length if it has no values") {
    answer(facts("""{"nulls":0,"distinct":40,"average_length":6,"longest":7}"""))
    withConf(Cbo) {
      val c = columnOf(estimate("SELECT s FROM t")).get
      assertEquals((c.min, c.max, c.avgLen, c.maxLen), (None, None, Some(6L), Some(7L)))
    }
    answer(facts("""{"nulls":40,"distinct":0}"""))
    withConf(Cbo)(assertEquals(columnOf(estimate("SELECT s FROM t")).get.avgLen, Some(20L)))
  }

  test("the question is about all files, whatever the filters keep") {
    answers { question =>
      if (question.path("goal").isObject) facts()
      else StubAnswer(kept = Some(Seq(0)), pushdown = "exact")
    }
    withConf(Cbo) {
      val rows = estimate("SELECT k FROM t WHERE k < 10").rowCount.get
      val question = StubPlanner.questions.find(_.path("goal").isObject).get
      assertEquals(question.path("conjuncts").size, 0)
      assert(question.path("among").isNull)
      assert(rows > 8 && rows < 12, rows)
    }
  }

  test("nothing is reported unless distinct values are recorded, or if nothing is known") {
    val ignored = Seq(
      facts(counts = false),
      StubAnswer(goal = "null"),
      StubAnswer(goal = StubAnswer.files(0)),
      StubAnswer(),
      facts(columns = ""),
      facts(rows = "null"),
      facts(rows = "-1"),
      facts(rows = "39.5"),
      facts("""{"least":"a","greatest":39,"nulls":0,"distinct":40}"""),
      facts("""{"least":0,"greatest":39,"nulls":41,"distinct":40}"""),
      facts("""{"least":0,"greatest":39,"nulls":0,"distinct":-1}"""),
      facts("""{"least":0,"greatest":39,"nulls":"0","distinct":40}""")
    )
    withConf(Cbo) {
      ignored.foreach { each =>
        answer(each)
        assertEquals(estimate().rowCount, None, each.goal)
      }
      answer(throw new PlannerUnavailable("the test says so"))
      assertEquals(estimate().rowCount, None)
    }
  }

  test("in the mode observe, and if Spark may leave out files, nothing is asked") {
    answer(facts())
    withConf(Cbo, "spark.tamis.mode" -> "observe")(assertEquals(estimate().rowCount, None))
    withConf(Cbo, "spark.sql.files.ignoreMissingFiles" -> "true") {
      assertEquals(estimate().rowCount, None)
    }
    assertEquals(StubPlanner.goals, Nil)
  }

  // ---- with the results of ANALYZE TABLE ----

  private val column = AttributeReference("k", LongType)()

  private def table(rows: Int, stat: ColumnStat): Statistics =
    Statistics(1, Some(rows), AttributeMap(Seq(column -> stat)))

  private def together(analyzed: Statistics, known: Statistics): (BigInt, ColumnStat) = {
    val s = OptimizerFacts.both(analyzed, known, Seq(column))
    (s.rowCount.get, s.attributeStats(column))
  }

  private def stat(distinct: Option[Int], low: Option[Long], high: Option[Long]) =
    ColumnStat(distinct.map(BigInt(_)), low, high, Some(0), Some(8L), Some(8L))

  test("statistics of ANALYZE TABLE that are current take precedence") {
    val (rows, s) = together(
      table(40, stat(Some(38), Some(0L), Some(39L))),
      table(40, stat(Some(41), Some(-5L), Some(50L)))
    )
    assertEquals(
      (rows, s.distinctCount, s.min, s.max),
      (BigInt(40), Some(BigInt(38)), Some(0L), Some(39L))
    )
  }

  test("an index fills in what ANALYZE TABLE lacks, minimum and maximum together") {
    val (_, s) = together(
      table(40, stat(None, Some(0L), None)),
      table(40, stat(Some(41), Some(-5L), Some(50L)))
    )
    assertEquals((s.distinctCount, s.min, s.max), (Some(BigInt(41)), Some(-5L), Some(50L)))
    val nulls = ColumnStat(Some(0), None, None, Some(40))
    assertEquals(together(table(40, nulls), table(40, stat(None, Some(1L), Some(1L))))._2.min, None)
  }

  test("bounds with which Spark cannot estimate are replaced, if there are others") {
    def doubles(low: Double, high: Double) = ColumnStat(Some(9), Some(low), Some(high), Some(0))
    val known = doubles(0, 9).copy(distinctCount = Some(7))
    for (bad <- Seq(Double.NaN, Double.PositiveInfinity)) {
      val (_, s) = together(table(40, doubles(0, bad)), table(40, known))
      assertEquals((s.distinctCount, s.max), (Some(BigInt(9)), Some(9.0)))
      val (_, same) =
        together(table(40, doubles(0, bad)), table(40, ColumnStat(nullCount = Some(0))))
      assertEquals(same.distinctCount, Some(BigInt(9)))
      assert(same.max.isDefined)
    }
  }

  test("if the row counts differ, ANALYZE TABLE fills in what the index lacks") {
    val (rows, s) = together(
      table(10, stat(Some(10), Some(0L), Some(9L))),
      table(40, stat(None, Some(0L), Some(39L)))
    )
    assertEquals((rows, s.distinctCount, s.max), (BigInt(40), Some(BigInt(10)), Some(39L)))
  }

  test("a column with a histogram keeps the bounds of its histogram") {
    val histogram = Histogram(5, Array(HistogramBin(0, 4, 5), HistogramBin(4, 9, 5)))
    val analyzed = stat(Some(10), Some(0L), Some(9L)).copy(histogram = Some(histogram))
    val (rows, s) = together(table(10, analyzed), table(40, stat(Some(40), Some(0L), Some(39L))))
    assertEquals((rows, s), (BigInt(40), analyzed))
  }

  test("a column that only one of them describes has its statistics") {
    val known = stat(Some(40), Some(0L), Some(39L))
    val none = Statistics(1, Some(40), AttributeMap.empty[ColumnStat])
    assertEquals(together(none, table(40, known))._2, known)
    assertEquals(together(table(40, known), none)._2, known)
  }
}
