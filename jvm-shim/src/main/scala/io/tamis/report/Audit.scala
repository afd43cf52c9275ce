package io.tamis.report

import java.lang.{Boolean => JBoolean}
import java.util.{Collections, WeakHashMap}
import java.util.concurrent.{Executors, ThreadFactory, TimeUnit}
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import scala.util.Random
import scala.util.control.NonFatal

import io.tamis.bridge.Warnings
import io.tamis.conf.TamisConf
import io.tamis.rules.PlainConjuncts
import io.tamis.source.{Decision, FixedFileIndex, Kept, PlannedFiles}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.dsl.plans._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.QueryExecutionListener
import org.slf4j.LoggerFactory

/** Reads again some of what a query did not read, and says so loudly if a row was missed.
  *
  * After a query that ended well, of each of its scans: some files that its filters left out, in
  * which no row may pass the filters; and some files that it read, in which every row passes the
  * filters that left the plan. Spark itself reads them, without tamis. It happens beside later
  * queries, one audit after another, and changes none of them.
  */
object Audit {
  private val log = LoggerFactory.getLogger("io.tamis")
  private val waiting = new AtomicInteger()
  private val MostWaiting = 100
  private val read = new AtomicLong()

  /** How many files were read again so far. */
  def files: Long = read.get

  private val thread = Executors.newSingleThreadExecutor(new ThreadFactory {
    override def newThread(task: Runnable): Thread = {
      val made = new Thread(task, "tamis-audit")
      made.setDaemon(true)
      made
    }
  })

  private val sessions = Collections.newSetFromMap(new WeakHashMap[ClassicSession, JBoolean])

  /** From now on; asked twice, once. */
  def listenTo(session: ClassicSession): Unit = sessions.synchronized {
    if (sessions.add(session)) session.listenerManager.register(new Listener(session))
  }

  /** Hears of the queries of one session. */
  private final class Listener(session: ClassicSession) extends QueryExecutionListener {
    override def onSuccess(funcName: String, planned: QueryExecution, nanos: Long): Unit = {
      val files = TamisConf.auditFiles(session.sessionState.conf)
      // an audit that cannot keep up leaves queries out rather than memory full
      if (files > 0 && waiting.get < MostWaiting)
        try {
          val scans = ScanReport.decisions(planned.executedPlan)
          if (scans.nonEmpty) {
            waiting.incrementAndGet()
            thread.execute { () =>
              try scans.foreach { case (table, decision) => audit(session, table, decision, files) }
              finally waiting.decrementAndGet()
            }
          }
        } catch { case NonFatal(e) => cannot("the query", e) }
    }

    override def onFailure(funcName: String, planned: QueryExecution, e: Exception): Unit = ()
  }

  /** Waits for the audits that were asked for; false: some go on. */
  def await(millis: Long): Boolean = {
    val until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis)
    while (waiting.get > 0 && System.nanoTime() < until) Thread.sleep(20)
    waiting.get == 0
  }

  private def audit(
      session: ClassicSession,
      table: PlannedFiles,
      decision: Decision,
      most: Int
  ): Unit = {
    val universe = table.purpose.within.getOrElse(Kept.all(decision.kept.listing))
    val left = sample(universe, most)(i => !decision.kept.contains(i))
    val passing = decision.conjuncts.map(_.expression).filter(PlainConjuncts.isPlain)
    check(session, table, left, passing)(_.reduce(And(_, _))) { rows =>
      s"$rows rows of ${table.name()} were not read that pass ${sql(passing)}: they are in " +
        s"${paths(left)}"
    }
    // of a file that is read in part, only that part was proven
    val read = if (decision.kept.ranges.isEmpty) sample(decision.kept, most)(_ => true) else None
    val exact = decision.conjuncts.filter(_.isExact).map(_.expression)
    check(session, table, read, exact)(c =>
      Not(Coalesce(Seq(c.reduce(And(_, _)), Literal.FalseLiteral)))
    ) { rows =>
      s"$rows rows of ${table.name()} were read that do not pass ${sql(exact)}, which left the " +
        s"plan: they are in ${paths(read)}"
    }
  }

  /** Some of the files for which this is true; None: there is none. */
  private def sample(files: Kept, most: Int)(chosen: Int => Boolean): Option[Kept] = {
    val candidates = Vector.newBuilder[Int]
    files.foreach(i => if (chosen(i)) candidates += i)
    val some = new java.util.BitSet()
    Random.shuffle(candidates.result()).take(most).foreach(some.set)
    Option.when(!some.isEmpty)(Kept.of(files.listing, some))
  }

  private def check(
      session: ClassicSession,
      table: PlannedFiles,
      files: Option[Kept],
      conjuncts: Seq[Expression]
  )(condition: Seq[Expression] => Expression)(found: Long => String): Unit =
    if (files.nonEmpty && conjuncts.nonEmpty)
      try {
        val rows = count(session, table, files.get, condition(conjuncts))
        read.addAndGet(files.get.count.toLong)
        if (rows > 0) disagreement(found(rows))
        else log.info(s"tamis audit: ${files.get.count} files of ${table.name()} agree")
      } catch { case NonFatal(e) => cannot(table.name(), e) }

  /** By Spark alone. An error that the filter raises of a row that was not read is none of ours. */
  private def count(
      session: ClassicSession,
      table: PlannedFiles,
      files: Kept,
      condition: Expression
  ): Long = {
    val own = table.relation
    val relation = HadoopFsRelation(
      new FixedFileIndex(table, files),
      own.partitionSchema,
      own.dataSchema,
      None,
      own.fileFormat,
      own.options
    )(own.sparkSession)
    val rows = LogicalRelation(relation)
    val plain = session.sessionState.conf.clone()
    plain.setConfString("spark.tamis.enabled", "false")
    SQLConf.withExistingConf(plain) {
      val found = Alias(Count(Literal(1)).toAggregateExpression(), "rows")()
      val counted = Filter(over(condition, rows.output), rows).groupBy()(found)
      session.sessionState.executePlan(counted).executedPlan.executeCollect().head.getLong(0)
    }
  }

  private def over(condition: Expression, columns: Seq[Attribute]): Expression = {
    val byName = columns.map(a => a.name -> a).toMap
    condition.transform { case a: AttributeReference => byName.getOrElse(a.name, a) }
  }

  private def disagreement(text: String): Unit = {
    log.error(s"tamis audit: WRONG RESULT: $text. Set spark.tamis.enabled=false, and report it.")
    Warnings.once(s"audit:$text", s"the audit found a wrong result: $text")
  }

  private def cannot(what: String, e: Throwable): Unit =
    log.info(s"tamis audit: $what could not be audited (${e.getMessage})")

  private def sql(conjuncts: Seq[Expression]): String =
    conjuncts.map(io.tamis.wire.ExpressionWriter.sqlOf).mkString(" AND ")

  private def paths(files: Option[Kept]): String =
    files.toSeq.flatMap(_.files).map(f => f.fileStatus.getPath.toString).mkString(", ")
}

/** Gives a session its listener when the first of its queries is planned that wants to be audited.
  * Spark makes a strategy anew for every plan.
  */
final class ListenForAudits(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    session match {
      case classic: ClassicSession if TamisConf.auditFiles(SQLConf.get) > 0 =>
        Audit.listenTo(classic)
      case _ => ()
    }
    Nil
  }
}
