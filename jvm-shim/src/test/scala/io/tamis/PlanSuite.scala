package io.tamis

import io.tamis.bridge.{StubAnswer, StubPlanner}
import io.tamis.listing.Listing
import io.tamis.planning.{AnswerMemo, ScanPlanner}
import io.tamis.rules.relations.{TamisRelation, UseTamisTables}
import io.tamis.scan.TamisTable
import java.nio.file.{Files, Path}

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession

/** A suite over plans of Spark, with a planner that answers what the test says.
  *
  * The views are
  *   - `t(k, v, s)`: 4 files with 10 rows each, sorted by `k` from 0; `v` is `k % 7`
  *   - `u(k, v, s)`: the same rows up to 20, in 2 files
  *   - `p(k, v, s, day)`: the same rows up to 30, in 3 partitions with one file each
  */
trait PlanSuite extends munit.FunSuite {
  protected def spark: SparkSession = PlanSuite.session
  protected def directory: Path = PlanSuite.directory

  override def beforeEach(context: BeforeEach): Unit = {
    SparkSession.setActiveSession(spark)
    answer(StubAnswer())
  }

  /** Lets the planner answer every question like this. */
  protected def answer(each: => StubAnswer): Unit = answers(_ => each)

  protected def answers(each: JsonNode => StubAnswer): Unit = {
    AnswerMemo.invalidate()
    StubPlanner.answer(each)
  }

  protected def withConf[A](confs: (String, String)*)(body: => A): A = {
    val before = confs.map { case (key, _) => key -> spark.conf.getOption(key) }
    confs.foreach { case (key, value) => spark.conf.set(key, value) }
    try body
    finally
      before.foreach {
        case (key, Some(value)) => spark.conf.set(key, value)
        case (key, None)        => spark.conf.unset(key)
      }
  }

  /** The plan that the rules of tamis receive, with Spark's own relations. */
  protected def optimized(sql: String): LogicalPlan =
    withConf("spark.tamis.enabled" -> "false") {
      spark.sql(sql).queryExecution.optimizedPlan
      PlanSuite.BeforeTamis.last
    }

  /** The same plan with tables of tamis. Tests call this in the thread of the planner, too, which
    * has no active session.
    */
  protected def tamis(sql: String): LogicalPlan =
    spark.withActive(new UseTamisTables(spark)(optimized(sql)))

  /** The same plan with tables of tamis in subqueries, too. */
  protected def tamisInSubqueries(sql: String): LogicalPlan = tamis(sql).transformAllExpressions {
    case s: SubqueryExpression => s.withNewPlan(new UseTamisTables(spark)(s.plan))
  }

  protected def rowsOf(plan: LogicalPlan): Seq[Row] =
    spark.sessionState.executePlan(plan).executedPlan.executeCollectPublic().toSeq

  protected def tables(plan: LogicalPlan): Seq[TamisTable] =
    plan.collectWithSubqueries { case TamisRelation(table) => table }

  /** For each file of a listing its number, which says where its rows lie in the table: the planner
    * refers to files by their place in the listing, which does not depend on their names.
    */
  protected def numbersOf(listing: Listing): Seq[Int] = listing.files.toSeq.map { file =>
    val number = "day=(\\d)/|part-0*(\\d+)-".r.findFirstMatchIn(Listing.uriOf(file)).get
    Option(number.group(1)).getOrElse(number.group(2)).toInt
  }

  /** Where the files with these numbers are in the listing of the table. */
  protected def placesIn(name: String)(numbers: Int*): Option[Seq[Int]] = {
    val table = tables(tamis(s"SELECT * FROM $name")).head
    val own = numbersOf(ScanPlanner.everything(table).kept.listing)
    Some(numbers.map(own.indexOf(_)))
  }

  /** The goals of each scan of the plan, without those that have no effect. */
  protected def reached(plan: LogicalPlan): Seq[Seq[String]] =
    tables(plan).map(_.purpose.goals.filter(_.reason.isEmpty).map(_.text))

  /** The reasons why goals of the scans have no effect. */
  protected def failed(plan: LogicalPlan): Seq[String] =
    tables(plan).flatMap(_.purpose.goals).flatMap(_.reason).map(_.code)

  /** The number of files that each scan is confined to; -1: it is not confined. */
  protected def confined(plan: LogicalPlan): Seq[Int] =
    tables(plan).map(_.purpose.within.fold(-1)(_.count))

  protected def assertUnchanged(rule: Rule[LogicalPlan], plan: LogicalPlan)(implicit
      loc: munit.Location
  ): Unit = assert(rule(plan).fastEquals(plan), rule(plan))

  /** The rule leaves these queries as they are and asks the planner for no goal. */
  protected def assertNoGoals(rule: Rule[LogicalPlan], queries: String*)(implicit
      loc: munit.Location
  ): Unit = queries.foreach { sql =>
    assertUnchanged(rule, tamis(sql))
    assertEquals(StubPlanner.goals, Nil, sql)
  }

  /** A rule that is applied twice changes nothing the second time. */
  protected def assertIdempotent(rule: Rule[LogicalPlan], plan: LogicalPlan)(implicit
      loc: munit.Location
  ): Unit = {
    val once = rule(plan)
    assert(!once.fastEquals(plan), "the rule does not apply")
    assertUnchanged(rule, once)
  }
}

/** A suite with the catalog table `guarded` over the files of `t`, and `guarded_view` over it. */
trait SharedTables extends PlanSuite {
  override def beforeAll(): Unit = {
    SparkSession.setActiveSession(spark)
    spark.sql(s"CREATE TABLE IF NOT EXISTS guarded USING parquet LOCATION '$directory/t'")
    spark.sql("CREATE VIEW IF NOT EXISTS guarded_view AS SELECT k FROM guarded")
    ()
  }
}

object PlanSuite {

  /** Remembers the last plan that reached the rules of tamis: subqueries come before it. */
  private object BeforeTamis extends Rule[LogicalPlan] {
    @volatile var last: LogicalPlan = _
    override def apply(plan: LogicalPlan): LogicalPlan = { last = plan; plan }
  }

  lazy val directory: Path = {
    val path = Files.createTempDirectory("tamis-plans-")
    sys.addShutdownHook(delete(path))
    path
  }

  private def delete(path: Path): Unit = {
    if (Files.isDirectory(path)) Files.list(path).forEach(delete(_))
    Files.delete(path)
  }

  lazy val session: SparkSession = {
    StubPlanner.install()
    val spark = SparkSession
      .builder()
      .master("local[1]")
      .config("spark.tamis.python", StubPlanner.Python)
      .config("spark.tamis.history.enabled", "false")
      .config("spark.sql.adaptive.enabled", "false")
      .config("spark.sql.session.timeZone", "UTC")
      // the suites run few rows, for which compiling takes longest
      .config("spark.sql.codegen.wholeStage", "false")
      .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
      .withExtensions(_.injectPreCBORule(_ => BeforeTamis))
      .withExtensions(new TamisExtensions)
      .getOrCreate()
    def rows(count: Long, files: Int) = spark
      .range(0, count, 1, files)
      .selectExpr("id AS k", "CAST(id % 7 AS INT) AS v", "concat('row ', id) AS s")
    rows(40, 4).write.parquet(s"$directory/t")
    rows(20, 2).write.parquet(s"$directory/u")
    rows(30, 1)
      .selectExpr("*", "CAST(k DIV 10 AS INT) AS day")
      .write
      .partitionBy("day")
      .parquet(s"$directory/p")
    Seq("t", "u", "p").foreach { name =>
      spark.read.parquet(s"$directory/$name").createOrReplaceTempView(name)
    }
    spark
  }
}
