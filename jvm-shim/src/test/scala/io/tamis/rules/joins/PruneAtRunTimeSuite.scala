package io.tamis.rules.joins

import io.tamis.PlanSuite
import io.tamis.bridge.{StubAnswer, StubPlanner}
import io.tamis.rules.relations.TamisRelation
import io.tamis.runtime.{KeyMembership, RuntimeCondition}
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LocalRelation, LogicalPlan}

class PruneAtRunTimeSuite extends PlanSuite {
  private def clustered(flag: Boolean): Unit = answers { question =>
    val flags = Seq.fill(question.at("/goal/keys").size)(flag)
    StubAnswer(goal = flags.mkString("""{"kind":"clustered","flags":[""", ",", "]}"))
  }

  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    clustered(true)
  }

  /** What the rule adds to scans: the table and the columns, `keys` for those of a join. */
  private def added(plan: LogicalPlan): Seq[String] =
    PruneAtRunTime(plan).collect { case Filter(condition, TamisRelation(table)) =>
      condition.collect { case RuntimeCondition(c) =>
        val kind = if (c.isInstanceOf[KeyMembership]) "keys" else "value"
        s"${table.relation.location.rootPaths.head.getName}.${c.references.map(_.name).mkString(",")} $kind"
      }
    }.flatten

  /** The same if Spark broadcasts no side, and so prunes by no broadcast. */
  private def shuffled(sql: String): Seq[String] =
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1")(added(tamisInSubqueries(sql)))

  /** One of three files. */
  private val day = "(SELECT * FROM p WHERE day = 1) q"

  test("the side of a join that may lose rows gets the keys of the other side") {
    Seq(
      s"t JOIN $day ON t.k = q.k" -> Seq("t.k keys"),
      s"t RIGHT JOIN $day ON t.k = q.k" -> Seq("t.k keys"),
      s"$day JOIN t ON t.k = q.k" -> Seq("t.k keys"),
      s"$day LEFT JOIN t ON t.k = q.k" -> Seq("t.k keys"),
      s"t LEFT JOIN $day ON t.k = q.k" -> Nil,
      s"$day RIGHT JOIN t ON t.k = q.k" -> Nil,
      s"t FULL JOIN $day ON t.k = q.k" -> Nil,
      s"t JOIN $day ON t.k < q.k" -> Nil
    ).foreach { case (join, expected) =>
      assertEquals(shuffled(s"SELECT t.s, q.s FROM $join"), expected, join)
    }
  }

  test("so does the side of IN and EXISTS, but not of NOT EXISTS") {
    assertEquals(shuffled(s"SELECT s FROM t WHERE k IN (SELECT k FROM $day)"), Seq("t.k keys"))
    assertEquals(
      shuffled(s"SELECT s FROM t WHERE EXISTS (SELECT 1 FROM $day WHERE q.k = t.k)"),
      Seq("t.k keys")
    )
    assertEquals(
      shuffled(s"SELECT s FROM t WHERE NOT EXISTS (SELECT 1 FROM $day WHERE q.k = t.k)"),
      Nil
    )
    assertEquals(
      shuffled(s"SELECT s FROM t WHERE k IN (SELECT k FROM $day) AND rand(7) > 0.5D"),
      Nil
    )
  }

  test("a side that is broadcast is pruned by Spark, if its filter looks selective") {
    val sql = s"SELECT t.s FROM t JOIN $day ON t.k = q.k"
    assertEquals(added(tamis(sql)), Nil)
    assertEquals(StubPlanner.questions, Nil) // the files are small enough, whatever is left out
    val kept = s"SELECT t.s FROM t RIGHT JOIN $day ON t.k = q.k" // never broadcast
    assertEquals(added(tamis(kept)), Seq("t.k keys"))
    withConf("spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false") {
      assertEquals(added(tamis(sql)), Seq("t.k keys"))
    }
  }

  test("keys are taken only from plans that give the same rows again") {
    def joined(side: String) =
      shuffled(s"SELECT t.s FROM t JOIN ($side) q ON t.k = q.k").filter(_.endsWith("keys"))
    assertEquals(joined("SELECT k FROM p WHERE day = 1 GROUP BY k"), Seq("t.k keys"))
    Seq(
      "SELECT k FROM p WHERE day = 1 LIMIT 5",
      "SELECT k FROM p WHERE day = 1 AND rand() > 0.5D",
      "SELECT k FROM p WHERE day = 1 AND k > (SELECT max(v) FROM u)",
      "SELECT CAST(sum(CAST(k AS DOUBLE)) AS BIGINT) AS k FROM p WHERE day = 1 GROUP BY v"
    ).foreach(side => assertEquals(joined(side), Nil, side))
  }

  test("keys of a stream are not read ahead") {
    val plan = tamis(s"SELECT t.s FROM t JOIN (VALUES (1L), (2L)) q(k) ON t.k = q.k")
    assertEquals(added(plan), Seq("t.k keys"))
    val stream = plan.transform { case local: LocalRelation =>
      LocalRelation(local.output, local.data, isStreaming = true)
    }
    assertEquals(added(stream), Nil)
  }

  test("a side without a filter, or that costs too much, is not read twice") {
    assertEquals(shuffled("SELECT t.s FROM t JOIN u ON t.k = u.k"), Nil)
    assertEquals(
      shuffled("SELECT t.s FROM t JOIN u ON t.k = u.k WHERE u.k IS NOT NULL"),
      Nil
    )
    assertEquals(shuffled("SELECT t.s FROM t JOIN p ON t.k = p.k WHERE p.s LIKE '%7%'"), Nil)
  }

  test("a key that the files are not clustered by rules nothing out") {
    clustered(false)
    assertEquals(shuffled(s"SELECT t.s FROM t JOIN $day ON t.k = q.k"), Nil)
    assertEquals(added(tamis("SELECT s FROM t WHERE k > (SELECT max(k) FROM u)")), Nil)
  }

  test("a filter by the value of one subquery is handed to the scan") {
    Seq(
      "k > (SELECT max(k) FROM u)" -> Seq("t.k value"),
      "k + v > (SELECT max(k) FROM u) * 2" -> Seq("t.k,v value"),
      "k > (SELECT max(k) FROM u) + (SELECT min(k) FROM p)" -> Nil,
      "k > (SELECT max(k) FROM u) AND rand() > 0.5D" -> Nil,
      "k > (SELECT max(k) FROM u) + rand()" -> Nil,
      "1 > (SELECT max(k) FROM u)" -> Nil
    ).foreach { case (condition, expected) =>
      val sql = s"SELECT s FROM t WHERE $condition"
      assertEquals(added(tamis(sql)).map(_.replace("v,k", "k,v")), expected, sql)
    }
  }

  test("the subquery of a condition is the one of the filter") {
    val plan = PruneAtRunTime(tamis("SELECT s FROM t WHERE k > (SELECT max(k) FROM u)"))
    val subqueries = plan.collect { case Filter(c, _) =>
      c.collect { case s: ScalarSubquery => s }
    }.flatten
    assertEquals((subqueries.size, subqueries.map(_.exprId).distinct.size), (2, 1))
    withConf("spark.sql.execution.reuseSubquery" -> "false") {
      assertEquals(added(tamis("SELECT s FROM t WHERE k > (SELECT max(k) FROM u)")), Nil)
    }
  }

  test("a subquery rules partitions out whatever the settings, as in plain Spark") {
    val ofPartitions = "SELECT s FROM p WHERE day = (SELECT max(v) - 5 FROM u)"
    val mixed = "SELECT s FROM p WHERE day + k = (SELECT max(v) - 5 FROM u)"
    Seq(
      "spark.tamis.runtimeFilters.enabled" -> "false",
      "spark.tamis.joins.enabled" -> "false",
      "spark.tamis.mode" -> "observe",
      "spark.sql.execution.reuseSubquery" -> "false"
    ).foreach { conf =>
      withConf(conf) {
        assertEquals(added(tamis(ofPartitions)), Seq("p.day value"), conf)
        if (conf._1 != "spark.tamis.joins.enabled")
          assertEquals(added(tamis(mixed)), Nil, conf)
      }
    }
    val plan = tamis(ofPartitions)
    withConf("spark.tamis.enabled" -> "false")(assertEquals(added(plan), Nil))
  }

  test("scans of recursive queries take no conditions") {
    Seq(
      s"SELECT t.s FROM t JOIN $day ON t.k = q.k",
      "SELECT s FROM t WHERE k > (SELECT max(k) FROM u)"
    ).foreach { sql =>
      val plan = tamis(sql).transform { case relation @ TamisRelation(_) =>
        TamisRelation.scannedFor(relation)(_.copy(inRecursion = true))
      }
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1")(assertEquals(added(plan), Nil, sql))
    }
  }

  test("applied twice equals once") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      assertIdempotent(PruneAtRunTime, tamis(s"SELECT t.s FROM t JOIN $day ON t.k = q.k"))
      assertIdempotent(
        PruneAtRunTime,
        tamisInSubqueries(s"SELECT s FROM t WHERE k IN (SELECT k FROM $day)")
      )
    }
    assertIdempotent(PruneAtRunTime, tamis("SELECT s FROM t WHERE k > (SELECT max(k) FROM u)"))
  }

  test("both sides of a join are not read for each other") {
    val plan = tamis(s"SELECT t.s FROM t JOIN $day ON t.k = q.k")
    val condition = plan.collect { case j: Join => j.condition }
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val pruned = PruneAtRunTime(plan)
      assertEquals(pruned.collect { case j: Join => j.condition }, condition)
    }
  }

  test("confs: off, no joins, observing") {
    val join = s"SELECT t.s FROM t JOIN $day ON t.k = q.k"
    Seq(
      "spark.tamis.runtimeFilters.enabled" -> "false",
      "spark.tamis.joins.enabled" -> "false",
      "spark.tamis.mode" -> "observe",
      "spark.tamis.enabled" -> "false"
    ).foreach { off =>
      val plan = tamis(join)
      withConf(off, "spark.sql.autoBroadcastJoinThreshold" -> "-1")(assertEquals(added(plan), Nil))
    }
  }
}
