package io.tamis.maintenance

import io.tamis.bridge.{AnyFailure, Daemons, OncePerContext, Warnings}
import io.tamis.conf.{Mode, TamisConf}
import io.tamis.listing.{FileFormats, RecordedFileIndex}
import io.tamis.planning.PlannedFiles
import io.tamis.report.{QueryListener, ScanNodes}
import java.lang.ref.WeakReference
import java.util.concurrent.{ScheduledThreadPoolExecutor, TimeUnit}

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.SparkListenerApplicationEnd
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.internal.SQLConf

/** With `spark.tamis.index.auto = full`, maintains the indexes of the tables that queries of this
  * driver have read, while no job of a user runs.
  *
  * It maintains one table at a time, in a Python process (`MaintenanceRun`). A job of a user ends
  * the process and its jobs: indexes are replaced in one step, so only the work since the last step
  * is lost. What fails here costs a warning, and nothing else.
  */
final class IdleMaintenance private (context: SparkContext) extends QueryListener {
  import IdleMaintenance._

  /** The tables to maintain, oldest first. */
  private val due = mutable.LinkedHashMap.empty[String, WeakReference[ClassicSession]]

  /** When a table may be maintained again, in the time of System.nanoTime. */
  private val notBefore = mutable.LinkedHashMap.empty[String, Long]

  /** How often in a row a job of a user has ended the maintenance of a table. */
  private val stops = mutable.LinkedHashMap.empty[String, Int]

  private lazy val watch = {
    val watch = new JobWatch(() => interrupt(), id => running.exists(_.id == id), cancel)
    context.addSparkListener(watch)
    watch
  }
  private var hourBegan = System.nanoTime()
  private var atBeginning = Cost.none
  @volatile private var running: Option[MaintenanceRun] = None

  @volatile private var hasStarted = false
  private lazy val thread = {
    hasStarted = true
    val thread = new ScheduledThreadPoolExecutor(1, Daemons.factory("tamis-maintenance"))
    thread.scheduleWithFixedDelay(() => look(), TickMs, TickMs, TimeUnit.MILLISECONDS)
    thread
  }

  override protected def ended(ran: QueryExecution, execution: Long, time: Long): Unit = quietly {
    val session = ran.sparkSession
    if (isOn(session.sessionState.conf)) {
      watch
      val tables = ScanNodes.of(ran.executedPlan, _ => true).map(_.files).flatMap(targetOf)
      synchronized {
        tables.foreach { table =>
          if (due.size < MostDue || due.contains(table)) due(table) = new WeakReference(session)
        }
      }
      if (tables.nonEmpty) thread: Unit
    }
  }

  override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = {
    running.foreach(_.stop())
    if (hasStarted) thread.shutdownNow(): Unit
  }

  /** Maintains a table, if it is time. */
  private def look(): Unit = quietly {
    ready.foreach { case (table, session) => maintain(table, session) }
  }

  /** The table to maintain next, if any. */
  private def ready: Option[(String, ClassicSession)] = synchronized {
    val (now, idle) = (System.nanoTime(), idleNanos)
    due.filterInPlace((_, session) => Option(session.get).exists(!_.sparkContext.isStopped))
    def mayRun(session: ClassicSession): Boolean = {
      val conf = session.sessionState.conf
      isOn(conf) && left(conf).nanos > 0 &&
      idle.exists(_ >= millis(TamisConf.indexAutoIdleTimeMs(conf)))
    }
    due.iterator
      .filter { case (table, _) => notBefore.get(table).forall(now - _ >= 0) }
      .flatMap { case (table, session) => Option(session.get).filter(mayRun).map(table -> _) }
      .nextOption()
  }

  private def maintain(table: String, session: ClassicSession): Unit = {
    val conf = session.sessionState.conf
    val run =
      new MaintenanceRun(table, copyOf(session), conf, () => watch.total, () => left(conf).bytes)
    runs.synchronized(runs(run.id) = run)
    running = Some(run)
    // jobs of users may have started before `running` was set, or before the watch was registered
    Daemons
      .thread("tamis-maintenance-guard") { () =>
        while (running.contains(run)) {
          if (idleNanos.isEmpty) interrupt()
          else if (left(conf).nanos <= 0) end(run, overBudget = true)
          Thread.sleep(TickMs)
        }
      }
      .start()
    val problem =
      try run.execute()
      finally {
        running = None
        runs.synchronized(runs -= run.id)
        watch.running.foreach(cancel)
      }
    schedule(run, problem)
    warn(run, problem)
  }

  /** Notes when the table of a run that has ended may be maintained again. */
  private def schedule(run: MaintenanceRun, problem: Option[String]): Unit = synchronized {
    val table = run.table
    if (run.wasStopped && !run.wasOverBudget)
      stops(table) = math.min(stops.getOrElse(table, 0) + 1, MostStops)
    else {
      due -= table
      stops -= table
    }
    val others = if (problem.isDefined || run.wasOverBudget) Hour else Again
    notBefore(table) = System.nanoTime() + stops.get(table).fold(others)(FirstPause << _)
    Seq(notBefore, stops).foreach { map =>
      while (map.size > MostDue) map.remove(map.head._1)
    }
  }

  private def warn(run: MaintenanceRun, problem: Option[String]): Unit = {
    if (run.wasOverBudget)
      Warnings.once(
        "index:maintenance:budget",
        s"maintenance of the index of ${run.table} was cancelled, because it exceeded " +
          s"${TamisConf.indexAutoMaxCpuTimeMs.key} per hour. Raise this conf, or run " +
          "tamis.maintain yourself."
      )
    problem.foreach { why =>
      Warnings.once(
        "index:maintenance",
        s"the index of ${run.table} could not be maintained while the driver was idle: $why. " +
          "Queries are not affected. spark.tamis.index.auto=full needs a Python with pyspark and " +
          "pyarrow on the driver (spark.tamis.python) and on executors; " +
          "spark.tamis.index.auto=footers turns this off."
      )
    }
  }

  /** What may still be used in this hour. */
  private def left(conf: SQLConf): Cost = synchronized {
    if (System.nanoTime() - hourBegan > Hour) {
      hourBegan = System.nanoTime()
      atBeginning = watch.total
    }
    val most =
      Cost(millis(TamisConf.indexAutoMaxCpuTimeMs(conf)), TamisConf.indexAutoMaxReadSizeBytes(conf))
    most - (watch.total - atBeginning)
  }

  private def idleNanos: Option[Long] =
    watch.idleNanos(context.statusTracker.getActiveJobIds().toSeq)

  private def interrupt(): Unit = running.foreach(end(_, overBudget = false))

  private def end(run: MaintenanceRun, overBudget: Boolean): Unit = {
    run.stop(overBudget)
    watch.running.foreach(cancel)
  }

  private def cancel(job: Int): Unit =
    Try(context.cancelJob(job, "maintenance of an index ends")): Unit
}

object IdleMaintenance {
  private val TickMs = 1000L
  private val MostDue = 1000
  private val Hour = TimeUnit.HOURS.toNanos(1)

  /** How long a table is left alone after it was maintained; and after jobs of users have ended its
    * maintenance, twice as long each time.
    */
  private val Again = TimeUnit.MINUTES.toNanos(10)
  private val FirstPause = TimeUnit.SECONDS.toNanos(1)
  private val MostStops = 9

  private val Quiet = Seq(
    "spark.tamis.index.auto" -> "footers", // read what maintenance has written, but start nothing
    "spark.tamis.history.enabled" -> "false",
    "spark.tamis.audit" -> "0"
  )

  private val listening = new OncePerContext
  private val runs = mutable.Map.empty[String, MaintenanceRun]

  /** Starts to note what queries read, once per context. */
  def listenTo(context: SparkContext): Unit = listening(context) {
    quietly(context.addSparkListener(new IdleMaintenance(context)))
  }

  /** The run with this id. */
  def run(id: String): MaintenanceRun = runs.synchronized(runs(id))

  private def isOn(conf: SQLConf): Boolean =
    TamisConf.mode(conf) != Mode.Off && TamisConf.indexEnabled(conf) &&
      TamisConf.indexAutoName(conf) == "full"

  /** The path or table whose index describes these files; None if maintenance leaves them alone. Of
    * a partition that is read by its path, it is the table.
    */
  private def targetOf(files: PlannedFiles): Option[String] = {
    val roots = files.relation.location.rootPaths
    if (!FileFormats.isParquet(files.relation) || isOfFormat(files)) None
    else
      files.catalogTable.map(_.identifier.quotedString).orElse {
        roots match {
          case Seq(root) =>
            val above = Iterator.iterate(root)(_.getParent).takeWhile(_ != null)
            above.find(!_.getName.contains("=")).map(_.toString)
          case _ => None
        }
      }
  }

  /** Whether a table format lists the files, which records statistics of its own. */
  private def isOfFormat(files: PlannedFiles): Boolean =
    files.relation.location.isInstanceOf[RecordedFileIndex]

  /** A session with the same settings, which refuses, records and audits nothing. */
  private def copyOf(session: ClassicSession): ClassicSession = {
    val copy = SparkGateway.copy(session)
    Quiet.foreach { case (key, value) => copy.conf.set(key, value) }
    Seq("spark.tamis.requireFilter", "spark.tamis.assertPruned").foreach(copy.conf.unset(_))
    copy
  }

  private def millis(ms: Long): Long = TimeUnit.MILLISECONDS.toNanos(ms)

  private def quietly(act: => Unit): Unit =
    AnyFailure.warned(
      _ => "index:maintenance:failed",
      "indexes cannot be maintained while the driver is idle",
      "Report this error. Queries are not affected."
    )(act)(_ => ())
}
