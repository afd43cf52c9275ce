package io.tamis.report

import io.tamis.bridge.{AnyFailure, Daemons, OncePerContext, Warnings}
import io.tamis.conf.TamisConf
import io.tamis.planning.{AuditOutcome, AuditResult, FileSelection, PlannedFiles, PlanningMetrics}
import io.tamis.rules.filters.PlainConjuncts
import io.tamis.scan.FixedFileIndex
import java.util.Locale
import java.util.concurrent.{Executors, TimeUnit}
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import scala.util.{Random, Try}
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.dsl.plans._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

/** Reads some of the files of a query, and logs an error if a decision of tamis was wrong.
  *
  * After a query that succeeded, the audit checks each of its scans. It reads some files that the
  * filters ruled out, in which no row may pass the filters, and some files that the scan read, in
  * which every row must pass the filters that left the plan. Spark itself reads them, without
  * tamis. Audits run concurrently with later queries, one audit after another, and do not change
  * them. What a scan in the mode `observe` would have read is audited in the same way.
  *
  * The jobs of an audit belong to no SQL execution: they run after their query has ended, in a
  * thread that inherits nothing from any query ([[Daemons]]).
  */
object Audit {
  private val log = LoggerFactory.getLogger("io.tamis")
  private val waiting = new AtomicInteger()
  private val MostWaiting = 100
  private val read = new AtomicLong()
  private val listening = new OncePerContext
  private val isNew = new FirstSeen("io.tamis.audited")

  /** How many files audits have read so far. */
  def files: Long = read.get

  private val thread = Executors.newSingleThreadExecutor(Daemons.factory("tamis-audit"))

  /** Audits the queries of every session of this context whose conf enables it. */
  def listenTo(context: SparkContext): Unit =
    listening(context) {
      try context.addSparkListener(new Listener)
      catch { case NonFatal(e) => cannot("this application", e) }
    }

  private final class Listener extends QueryListener {
    override protected def ended(ran: QueryExecution, execution: Long, time: Long): Unit =
      audit(ran, execution, time)
  }

  private def audit(ran: QueryExecution, execution: Long, time: Long): Unit = {
    val most = Try(TamisConf.audit(ran.sparkSession.sessionState.conf)).getOrElse(0)
    // an audit that cannot keep up skips queries rather than filling the memory
    if (most > 0 && waiting.get < MostWaiting)
      try {
        val every = ScanNodes.of(ran.executedPlan, _ => true).map(_.node)
        val scans = ScanNodes
          .once(ScanNodes.of(ran.executedPlan, isNew(_)))(_.decision)
          .filterNot(_.files.isReadByFormat) // Spark alone would read other rows
        if (scans.nonEmpty) {
          waiting.incrementAndGet()
          thread.execute { () =>
            try
              scans.foreach { scan =>
                val number = every.indexWhere(_ eq scan.node)
                audit(ran.sparkSession, scan, most).foreach { result =>
                  PlanningMetrics.audited(result)
                  ScanHistory.audited(ran, execution, number, time, result)
                }
              }
            catch { case AnyFailure(e) => cannot("the query", e) }
            finally waiting.decrementAndGet()
          }
        }
      } catch { case AnyFailure(e) => cannot("the query", e) }
  }

  /** Waits for pending audits.
    *
    * @return
    *   false if some audits are still running after `millis`
    */
  def await(millis: Long): Boolean = {
    val until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis)
    while (waiting.get > 0 && System.nanoTime() < until) Thread.sleep(20)
    waiting.get == 0
  }

  /** Audits one scan. None if the scan has nothing to audit, such as a scan without a filter. */
  private def audit(session: ClassicSession, scan: ScanNode, most: Int): Option[AuditResult] = {
    val (table, decision) = (scan.files, scan.decision.shown)
    val universe = table.purpose.within.getOrElse(FileSelection.all(decision.kept.listing))
    val left = sample(universe, most)(i => !decision.kept.contains(i))
    val passing = decision.conjuncts.map(_.expression).filter(PlainConjuncts.isPlain)
    val (unread, gone) =
      if (scan.decision.isObserved) ("would not have been read", "would have removed")
      else ("were not read", "removed")
    val missed = check(session, scan, left, passing)(_.reduce(And(_, _))) { rows =>
      s"$rows rows of ${table.name()} pass ${sql(passing)}, but $unread: they are in " +
        s"${paths(left)}"
    }
    // if a file is read in part, the proof covers only that part
    val read = if (decision.kept.ranges.isEmpty) sample(decision.kept, most)(_ => true) else None
    val exact = decision.conjuncts.filter(_.isExact).map(_.expression)
    val unfiltered = check(session, scan, read, exact)(c =>
      Not(Coalesce(Seq(c.reduce(And(_, _)), Literal.FalseLiteral)))
    ) { rows =>
      s"$rows rows of ${table.name()} do not pass ${sql(exact)}, but tamis $gone this filter: " +
        s"they are in ${paths(read)}"
    }
    AuditResult.of(Seq(missed, unfiltered).flatten)
  }

  /** A random sample of the files that satisfy `chosen`; None if there are none. */
  private def sample(files: FileSelection, most: Int)(
      chosen: Int => Boolean
  ): Option[FileSelection] = {
    val candidates = Vector.newBuilder[Int]
    files.foreach(i => if (chosen(i)) candidates += i)
    val some = new java.util.BitSet()
    Random.shuffle(candidates.result()).take(most).foreach(some.set)
    Option.when(!some.isEmpty)(FileSelection.of(files.listing, some))
  }

  private def check(
      session: ClassicSession,
      scan: ScanNode,
      files: Option[FileSelection],
      conjuncts: Seq[Expression]
  )(condition: Seq[Expression] => Expression)(textOf: Long => String): Option[AuditResult] =
    Option.when(files.nonEmpty && conjuncts.nonEmpty) {
      val count = files.get.count.toLong
      try {
        val rows = rowsOf(session, scan.files, files.get, condition(conjuncts))
        read.addAndGet(count)
        if (rows > 0) {
          val text = textOf(rows)
          disagreement(text, scan.decision.isObserved)
          AuditResult(AuditOutcome.Disagreement, count, Some(text))
        } else {
          log.info(s"tamis audit: passed for $count files of ${scan.files.name()}")
          AuditResult(AuditOutcome.Passed, count, None)
        }
      } catch {
        case AnyFailure(e) =>
          cannot(scan.files.name(), e)
          AuditResult(AuditOutcome.Failed, 0L, Some(firstLine(e)))
      }
    }

  /** Counts the rows that satisfy the condition, with Spark alone. If the filter raises an error
    * for a row that the query did not read, that does not count against tamis.
    */
  private def rowsOf(
      session: ClassicSession,
      table: PlannedFiles,
      files: FileSelection,
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
    TamisConf.turnOff(plain)
    session.withActive(SQLConf.withExistingConf(plain) {
      val count = Alias(Count(Literal(1)).toAggregateExpression(), "rows")()
      val counted = Filter(over(condition, rows.output), rows).groupBy()(count)
      val planned = session.sessionState.executePlan(counted).executedPlan
      withLocalProperties(session.sparkContext, table, plain) {
        planned.executeCollect().head.getLong(0)
      }
    })
  }

  /** Sets what tasks see: the confs of the session, as in a query, and a description of the job. */
  private def withLocalProperties[A](context: SparkContext, table: PlannedFiles, conf: SQLConf)(
      body: => A
  ): A = {
    val properties = conf.getAllConfs.filter(_._1.startsWith("spark")) +
      ("spark.job.description" -> s"tamis audit of ${table.name()}")
    properties.foreach { case (key, value) => context.setLocalProperty(key, value) }
    try body
    finally properties.keys.foreach(context.setLocalProperty(_, null))
  }

  private def over(condition: Expression, columns: Seq[Attribute]): Expression = {
    val byName = columns.map(a => a.name -> a).toMap
    condition.transform { case a: AttributeReference => byName.getOrElse(a.name, a) }
  }

  private def disagreement(text: String, isObserved: Boolean): Unit = {
    val (what, advice) =
      if (isObserved)
        "wrong decision" -> ("The query was not affected, because spark.tamis.mode is observe. " +
          "Do not set it to apply, and report this.")
      else "wrong result" -> "Set spark.tamis.enabled=false, and report this."
    log.error(s"tamis audit: ${what.toUpperCase(Locale.ROOT)}: $text. $advice")
    Warnings.once(s"audit:$text", s"the audit found a $what: $text. $advice")
  }

  private def cannot(what: String, e: Throwable): Unit =
    log.info(s"tamis audit: $what could not be audited (${e.getMessage})")

  private def firstLine(e: Throwable): String =
    String.valueOf(e.getMessage).linesIterator.nextOption().getOrElse(e.getClass.getName)

  private def sql(conjuncts: Seq[Expression]): String =
    conjuncts.map(io.tamis.wire.ExpressionWriter.sqlOf).mkString(" AND ")

  private def paths(files: Option[FileSelection]): String =
    files.toSeq.flatMap(_.files).map(f => f.fileStatus.getPath.toString).mkString(", ")
}
