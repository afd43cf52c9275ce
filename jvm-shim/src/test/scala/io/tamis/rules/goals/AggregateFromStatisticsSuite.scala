package io.tamis.rules.goals

import io.tamis.PlanSuite
import io.tamis.bridge.{StubAnswer, StubPlanner}
import io.tamis.listing.Listing
import io.tamis.planning.ScanPlanner
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** AggregateFromStatistics with AggregateRewrite: the planner answers with the true aggregates of
  * some files, and the plan over the others must give the result of plain Spark.
  */
class AggregateFromStatisticsSuite extends PlanSuite {

  /** Answers for the files with these numbers. `values` gives the aggregates of the rows from one
    * `k` to another one; both are in files with these numbers.
    */
  private def covering(
      sql: String,
      numbers: Int*
  )(values: (Long, Long) => Seq[Any]): LogicalPlan = {
    val plan = tamis(sql)
    val listing = ScanPlanner.everything(tables(plan).head).kept.listing
    val ordinals = numbersOf(listing).zipWithIndex.toMap
    answers { question =>
      val keys = question.at("/goal/keys")
      def groupOf(number: Int) =
        if (keys.isArray) keys.get(listing.groupOf(ordinals(number))).asInt else 0
      val groups = numbers.groupBy(groupOf).map { case (group, files) =>
        val cells = values(files.min * 10L, files.max * 10L + 9).mkString(",")
        s"""{"key":$group,"values":[$cells]}"""
      }
      val rest = ordinals.collect { case (n, i) if !numbers.contains(n) => i }.toSeq.sorted
      StubAnswer(goal =
        s"""{"kind":"aggregate","files":${StubAnswer.only(rest)},"covered":${numbers.size},
           |"skipped":0,"groups":${groups.mkString("[", ",", "]")}}""".stripMargin
      )
    }
    AggregateFromStatistics(plan)
  }

  private def check(plan: LogicalPlan, sql: String)(implicit loc: munit.Location): Unit = {
    def shown(p: LogicalPlan) = rowsOf(p).map(_.toString).sorted
    val plain = optimized(sql)
    assertEquals(shown(plan), shown(plain), plan.toString)
    assertEquals(plan.schema, plain.schema)
  }

  private val overAll = "SELECT count(*) AS n, min(k) AS least, max(k) + 1 AS next FROM t"
  private def countMinMax(least: Long, greatest: Long) =
    Seq(greatest - least + 1, least, greatest)

  test("answers for all files leave a constant, which carries the explanation") {
    val plan = covering(overAll, 0, 1, 2, 3)(countMinMax)
    assertEquals(tables(plan), Nil)
    val answered = plan.collectFirst {
      case p if p.getTagValue(AggregateFromStatistics.Answered).nonEmpty =>
        p.getTagValue(AggregateFromStatistics.Answered).get
    }
    assertEquals(answered.map(a => (a.goal, a.files)), Some(("count(1), min(k), max(k)", 4)))
    check(plan, overAll)
  }

  test("answers for some files are combined with the aggregate over the others") {
    val plan = covering(overAll, 1, 2)(countMinMax)
    assertEquals(confined(plan), Seq(2))
    assertEquals(
      reached(plan),
      Seq(Seq("count(1), min(k), max(k): 2 files answered from statistics"))
    )
    check(plan, overAll)
  }

  test("answers for no file leave the whole aggregate") {
    val plan = covering(overAll)(countMinMax)
    assertEquals(confined(plan), Seq(4))
    check(plan, overAll)
  }

  test("the greatest or the least value may be on either side") {
    check(covering(overAll, 3)(countMinMax), overAll)
    check(covering(overAll, 0)(countMinMax), overAll)
  }

  test("statistics without a value leave MIN and MAX to the rows") {
    val plan = covering(overAll, 0)((_, _) => Seq(0, "null", "null"))
    assertEquals(rowsOf(plan).map(_.toString), Seq("[30,10,40]"))
  }

  test("the filter still applies to the rows of the other files") {
    val sql = "SELECT count(*), max(k) FROM t WHERE k >= 15"
    check(covering(sql, 2, 3)((least, greatest) => Seq(greatest - least + 1, greatest)), sql)
  }

  test("groups of partition columns: all, some or none from statistics") {
    val sql = "SELECT day, count(*) AS n, max(k) AS m, count(v) AS c FROM p GROUP BY day"
    def values(least: Long, greatest: Long) = Seq(10, greatest, 10)
    check(covering(sql, 0, 1, 2)(values), sql)
    val some = covering(sql, 0, 2)(values)
    assertEquals(confined(some), Seq(1))
    check(some, sql)
    check(covering(sql)(values), sql)
  }

  test("COUNT(NULL) is not a number of rows, also if Spark has not replaced it with 0") {
    val rule = "org.apache.spark.sql.catalyst.optimizer.NullPropagation"
    withConf("spark.sql.optimizer.excludedRules" -> rule) {
      assert(tamis("SELECT count(NULL) FROM t").toString.contains("count(null)"))
      assertNoGoals(AggregateFromStatistics, "SELECT count(NULL) FROM t")
    }
  }

  test("sums and averages: all, some or none from statistics") {
    val sql = "SELECT sum(k) AS s, avg(k) AS a, count(k) AS n FROM t"
    def values(least: Long, greatest: Long) = {
      val count = greatest - least + 1
      val sum = s""""${(least + greatest) * count / 2}""""
      Seq[Any](sum, sum, count)
    }
    Seq(Seq(0, 1, 2, 3), Seq(1, 2), Nil).foreach { numbers =>
      check(covering(sql, numbers: _*)(values), sql)
    }
    val asked = StubPlanner.goals.head.path("aggregates")
    val limits = (0 until asked.size).map(i => asked.get(i).path("limit").asText)
    assertEquals(limits, Seq("9223372036854775808", "9007199254740992", "null"))
  }

  test("sums of decimals have the type of Spark's own") {
    val sql =
      "SELECT sum(CAST(k AS DECIMAL(8, 1))) AS s, avg(CAST(k AS DECIMAL(20, 1))) AS a FROM t"
    def values(least: Long, greatest: Long) = {
      val count = greatest - least + 1
      val sum = s""""${(least + greatest) * count * 5}""""
      Seq[Any](sum, sum, count)
    }
    Seq(Seq(0, 1, 2, 3), Seq(1, 2)).foreach { numbers =>
      check(covering(sql, numbers: _*)(values), sql)
    }
  }

  test("what only recorded aggregates answer stays as it was if there are none") {
    Seq(
      "SELECT sum(k) FROM t",
      "SELECT avg(k) FROM t",
      "SELECT count(*), sum(k) FROM t",
      "SELECT max(k + 1) FROM t",
      "SELECT v, count(*) FROM t GROUP BY v",
      "SELECT day, v, count(*) FROM p GROUP BY day, v",
      "SELECT DISTINCT v FROM t",
      "SELECT count(*) FROM (SELECT DISTINCT v FROM t)"
    ).foreach { sql =>
      val plan = tamis(sql)
      answer(StubAnswer(goal = "null"))
      assert(AggregateFromStatistics(plan) eq plan, sql)
      assertEquals(StubPlanner.goals.size, 1, sql)
    }
  }

  test("grouping sets: all, some or none from statistics") {
    def values(least: Long, greatest: Long) =
      Seq[Any](10, greatest, s""""${(least + greatest) * 5}"""")
    Seq(
      "ROLLUP(day)",
      "GROUPING SETS ((day), (day), ())",
      "day, CUBE(day)",
      "ROLLUP(day) HAVING grouping(day) = 0",
      "CUBE(day) HAVING grouping_id() = 1 OR day IS NULL"
    ).foreach { sets =>
      val sql = "SELECT day, grouping_id() AS g, count(*) AS n, max(k) + 1 AS m, sum(k) AS s " +
        s"FROM p GROUP BY $sets"
      check(covering(sql, 0, 1, 2)(values), sql)
      val some = covering(sql, 0, 2)(values)
      assertEquals(confined(some), Seq(1))
      check(some, sql)
      check(covering(sql)(values), sql)
      assertUnchanged(AggregateFromStatistics, some)
    }
  }

  test("the condition of a FILTER is part of a function") {
    answer(StubAnswer())
    AggregateFromStatistics(
      tamis(
        "SELECT count(*) FILTER (WHERE v > 1), count(*) FILTER (WHERE v > 2), count(*), " +
          "avg(k) FILTER (WHERE v > 1), 1 + count(*) FILTER (WHERE v > 2) FROM t"
      )
    )
    val asked = StubPlanner.goals.head.path("aggregates")
    val sent = (0 until asked.size).map(asked.get)
    val filtered = sent.map(f => f.path("function").asText -> f.path("filter").isObject)
    assertEquals(
      filtered,
      Seq("count" -> true, "count" -> true, "count" -> false, "sum" -> true, "count" -> true)
    )
    assertNotEquals(sent.head.path("filter"), sent(1).path("filter"))
  }

  test("a FILTER still applies to the rows of the other files") {
    val sql =
      "SELECT count(*) FILTER (WHERE k >= 15) AS n, max(k) FILTER (WHERE k < 12) AS m FROM t"
    // of the files 2 and 3, all rows count for the first function, and none for the second one
    val plan = covering(sql, 2, 3)((least, greatest) => Seq(greatest - least + 1, "null"))
    assertEquals(confined(plan), Seq(2))
    check(plan, sql)
  }

  test("DISTINCT of partition columns needs only groups") {
    val sql = "SELECT DISTINCT day FROM p"
    val plan = covering(sql, 0, 2)((_, _) => Nil)
    assertEquals(reached(plan), Seq(Seq("DISTINCT day: 2 files answered from statistics")))
    check(plan, sql)
  }

  test("the output keeps its ids, names, types and nullability") {
    Seq(
      overAll,
      "SELECT day, max(k) + day AS x, count(*) AS n FROM p GROUP BY day"
    ).foreach { sql =>
      Seq(Seq(0, 1, 2), Seq(0), Nil).foreach { numbers =>
        val before = tamis(sql)
        StubPlanner.answer(_ => StubAnswer())
        val after = covering(sql, numbers: _*)(countMinMax)
        def described(p: LogicalPlan) = p.output.map(a => (a.name, a.dataType, a.nullable))
        assertEquals(described(after), described(before))
      }
    }
    val plan = tamis(overAll)
    answer(StubAnswer(goal = """{"kind":"aggregate","files":{"form":"all"},"groups":[]}"""))
    assertEquals(AggregateFromStatistics(plan).output, plan.output)
    answer(
      StubAnswer(goal =
        """{"kind":"aggregate","files":{"form":"none"},"groups":[{"key":0,"values":[1,2,3]}]}"""
      )
    )
    assertEquals(AggregateFromStatistics(plan).output, plan.output)
  }

  test("equal functions are asked once") {
    answer(StubAnswer())
    AggregateFromStatistics(
      tamis("SELECT count(*), count(1) + 1, max(k), max(k) - min(k), count(k) FROM t")
    )
    val asked = StubPlanner.goals.head.path("aggregates")
    val functions = (0 until asked.size).map(i => asked.get(i).path("function").asText)
    assertEquals(functions, Seq("count", "max", "min", "count"))
  }

  test("aggregates that statistics cannot answer get no goal") {
    assertNoGoals(
      AggregateFromStatistics,
      "SELECT count(DISTINCT k) FROM t",
      "SELECT count(DISTINCT k) FILTER (WHERE v > 1) FROM t",
      "SELECT count(*) FILTER (WHERE v > (SELECT max(v) FROM u)) FROM t",
      "SELECT count(*) FROM t GROUP BY GROUPING SETS ((), ())",
      "SELECT v, max(k) FROM (SELECT v, k FROM t) GROUP BY ROLLUP(v + 1, v)",
      "SELECT count(k, v) FROM p",
      "SELECT max(s COLLATE UTF8_LCASE) FROM t",
      "SELECT max(struct(k)) FROM t",
      "SELECT day + 1, count(*) FROM p GROUP BY day + 1",
      "SELECT count(*) FROM t WHERE rand() > 0.5D",
      "SELECT count(*) FROM t WHERE k > (SELECT max(v) FROM u)",
      "SELECT count(*) FROM t JOIN u ON t.k = u.k",
      "SELECT count(*) FROM (SELECT k FROM t LIMIT 3)"
    )
  }

  test("applied twice equals once") {
    val some = covering(overAll, 1, 2)(countMinMax)
    assertUnchanged(AggregateFromStatistics, some)
    val all = covering(overAll, 0, 1, 2, 3)(countMinMax)
    assertUnchanged(AggregateFromStatistics, all)
    val groups = covering("SELECT day, count(*) FROM p GROUP BY day", 1)((_, _) => Seq(10))
    assertUnchanged(AggregateFromStatistics, groups)
  }

  test("an answer with too few values leaves the plan unchanged") {
    answer(
      StubAnswer(goal =
        """{"kind":"aggregate","files":{"form":"none"},"groups":[{"key":0,"values":[1]}]}"""
      )
    )
    assertUnchanged(AggregateFromStatistics, tamis(overAll))
  }

  test("without an answer the aggregate reads all files, with the reason") {
    answer(StubAnswer(goal = StubAnswer.nothing("INDEX_MISSING")))
    val plan = AggregateFromStatistics(tamis(overAll))
    assertEquals((confined(plan), failed(plan)), (Seq(-1), Seq("INDEX_MISSING")))
    withConf("spark.tamis.aggregates.enabled" -> "false") {
      assertUnchanged(AggregateFromStatistics, tamis(overAll))
    }
  }

  test("directories with equal partition values are one group") {
    val plan = tamis("SELECT day, count(*) FROM p GROUP BY day")
    val wanted = plan.collectFirst { case StatisticsAggregate(w) => w }.get
    val listing = ScanPlanner.everything(wanted.scan.table).kept.listing
    val twice = listing.directories ++ listing.directories.take(1).map { d =>
      d.copy(files = d.files.map { f =>
        val path = new org.apache.hadoop.fs.Path("file:/elsewhere/part-9")
        val status = new org.apache.hadoop.fs.FileStatus(f.getLen, false, 1, 1, 1, path)
        org.apache.spark.sql.execution.datasources.FileStatusWithMetadata(status)
      })
    }
    val numbers = wanted.numbersIn(Listing.of(twice, listing.partitionSchema))
    assertEquals(numbers.map(_.ofDirectories), Some(Seq(0, 1, 2, 0)))
    assertEquals(numbers.map(_.values.size), Some(3))
  }
}
