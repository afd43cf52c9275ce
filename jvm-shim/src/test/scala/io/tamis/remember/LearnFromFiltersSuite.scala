package io.tamis.remember

import io.tamis.PlanSuite
import io.tamis.runtime.{FirstRows, SampledBoundary}
import io.tamis.scan.{TamisScan, TamisScanExec}
import java.util.TimeZone

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.api.java.UDF1
import org.apache.spark.sql.catalyst.expressions.{DynamicPruningExpression, IsNotNull, Literal}
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.types.LongType

class LearnFromFiltersSuite extends PlanSuite {
  private def learners(sql: String): Seq[Learner] = withConf(
    "spark.tamis.remember.enabled" -> "true",
    "spark.sql.adaptive.enabled" -> "false"
  ) {
    val plan: SparkPlan = spark.sql(sql).queryExecution.executedPlan
    plan.collectWithSubqueries { case noting: NoteHitsExec => noting.learner }
  }

  private def keys(sql: String): Set[String] =
    learners(sql).flatMap(_.predicates.keys).toSet

  test("a scan with a deterministic filter learns") {
    assertEquals(learners("SELECT * FROM t WHERE s LIKE '%x%'").size, 1)
    assertEquals(learners("SELECT * FROM p WHERE s LIKE '%x%' AND k > 3").size, 1)
  }

  test("scans without a filter, or with one that is not a property of the file, do not") {
    assertEquals(learners("SELECT * FROM t"), Nil)
    assertEquals(learners("SELECT * FROM t WHERE rand() < 0.5"), Nil)
    assertEquals(learners("SELECT * FROM t WHERE k < (SELECT max(v) FROM u)"), Nil)
    assertEquals(learners("SELECT * FROM p WHERE k = 1 OR day = '1'"), Nil)
    withConf("spark.sql.files.ignoreCorruptFiles" -> "true") {
      assertEquals(learners("SELECT * FROM t WHERE s LIKE '%x%'"), Nil)
    }
    withConf("spark.tamis.mode" -> "observe") {
      assertEquals(learners("SELECT * FROM t WHERE s LIKE '%x%'"), Nil)
    }
  }

  test("a filter with a function of a user does not learn") {
    val halve: UDF1[java.lang.Long, java.lang.Long] = k => k / 2
    spark.udf.register("halve", halve, LongType)
    spark.udf.register("ends", (s: String) => s.endsWith("7"))
    assertEquals(learners("SELECT * FROM t WHERE halve(k) = 3"), Nil)
    assertEquals(learners("SELECT * FROM t WHERE s LIKE '%x%' AND ends(s)"), Nil)
    val typed = spark.table("t").select("s").as[String](Encoders.STRING).filter(EndsWith("7"))
    withConf("spark.tamis.remember.enabled" -> "true") {
      val plan = typed.queryExecution.executedPlan
      assert(plan.exists(_.isInstanceOf[FilterExec]))
      assert(!plan.exists(_.isInstanceOf[NoteHitsExec]))
    }
  }

  test("a scan that skips rows for another reason than its filter does not learn") {
    val sql = "SELECT * FROM t WHERE s LIKE '%x%'"
    val plan = withConf("spark.tamis.remember.enabled" -> "false") {
      spark.sql(sql).queryExecution.executedPlan
    }
    val (filter, exec, scan) = plan.collectFirst {
      case f @ FilterExec(_, TamisScanExec(exec, scan)) => (f, exec, scan)
    }.get
    def learns(changed: BatchScanExec) = withConf("spark.tamis.remember.enabled" -> "true") {
      val rule = LearnFromFilters.preColumnarTransitions
      rule(filter.copy(child = changed)).isInstanceOf[NoteHitsExec]
    }
    def purposed(purpose: io.tamis.planning.ScanConstraints) =
      exec.copy(scan = new TamisScan(scan.table.scannedFor(purpose), scan.decision, scan.required))
    val purpose = scan.table.purpose
    assert(learns(exec))
    assert(learns(purposed(purpose)))
    assert(!learns(exec.copy(runtimeFilters = Seq(DynamicPruningExpression(Literal.TrueLiteral)))))
    assert(!learns(purposed(purpose.withImplied(Seq(IsNotNull(exec.output.head))))))
    val boundary = new SampledBoundary(spark, FirstRows(Nil, Nil), Nil, "", "")
    assert(!learns(purposed(purpose.bounded(Some(boundary)))))
  }

  test("what a conjunct depends on is part of its key") {
    val plain = keys("SELECT * FROM t WHERE s LIKE '%x%'")
    assert(plain.nonEmpty)
    assertEquals(keys("SELECT k FROM t AS other WHERE S like '%x%'"), plain)
    assertNotEquals(keys("SELECT * FROM t WHERE s LIKE '%y%'"), plain)
    val hour = "SELECT * FROM t WHERE hour(timestamp_seconds(k)) = 3"
    val utc = withConf("spark.sql.session.timeZone" -> "UTC")(keys(hour))
    val other = withConf("spark.sql.session.timeZone" -> "Asia/Kolkata")(keys(hour))
    assertNotEquals(utc, other)
    def cast = keys("SELECT * FROM t WHERE CAST(s AS INT) = 3")
    assertNotEquals(
      withConf("spark.sql.ansi.enabled" -> "true")(cast),
      withConf("spark.sql.ansi.enabled" -> "false")(cast)
    )
    def lambda(x: String) =
      keys(s"SELECT * FROM t WHERE exists(split(s, '1'), e -> e = '$x')")
    assertEquals(lambda("a"), lambda("a"))
    assertNotEquals(lambda("a"), lambda("b"))
  }

  test("the time zone of the JVM is part of how files are read") {
    def reading = learners("SELECT * FROM t WHERE s LIKE '%x%'").map(_.predicates.reading)
    val (own, before) = (TimeZone.getDefault, reading)
    assert(before.nonEmpty)
    TimeZone.setDefault(TimeZone.getTimeZone("Asia/Kolkata"))
    try assertNotEquals(reading, before)
    finally TimeZone.setDefault(own)
    assertEquals(reading, before)
  }

  test("two plans that learn have the same canonical form, so that exchanges are reused") {
    withConf("spark.tamis.remember.enabled" -> "true", "spark.sql.adaptive.enabled" -> "false") {
      def plan = spark.sql("SELECT * FROM t WHERE s LIKE '%x%'").queryExecution.executedPlan
      assertEquals(plan.canonicalized, plan.canonicalized)
      assert(plan.sameResult(plan))
    }
  }
}

/** The filter of a Dataset, with a class whose fields could be part of a key. */
final case class EndsWith(text: String) extends (String => Boolean) {
  override def apply(s: String): Boolean = s.endsWith(text)
}
