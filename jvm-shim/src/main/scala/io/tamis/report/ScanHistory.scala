package io.tamis.report

import io.tamis.bridge.{AnyFailure, DroppingQueue, OncePerContext, SidecarSupervisor, Warnings}
import io.tamis.conf.{Mode, TamisConf}
import io.tamis.planning.AuditResult
import java.util.concurrent.TimeoutException

import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.SparkListenerApplicationEnd
import org.apache.spark.sql.execution.QueryExecution

/** Sends the decision of every scan that ran to the sidecar, which appends it to the history.
  *
  * This does not delay queries: Spark reports a query that has ended in a listener thread, and
  * another thread writes and sends the records. No query waits for it, and records beyond the
  * queue's capacity are dropped. A plan that is only explained does not run and is not recorded. A
  * query that failed is not recorded either.
  */
final class ScanHistory private (application: String) extends QueryListener {
  import ScanHistory._

  override protected def ended(ran: QueryExecution, execution: Long, time: Long): Unit =
    if (isRecorded(ran))
      sending.add(record(ran)(ScanRecords.of(ran, application, execution, time)))

  override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = drain()
}

object ScanHistory {
  private val DrainMs = 2000L
  private val DeliveredMs = 10000L

  private val listening = new OncePerContext

  private val sending = new DroppingQueue("tamis-history")

  /** Starts to record, once per context. */
  def listenTo(context: SparkContext): Unit = listening(context) {
    quietly(context.addSparkListener(new ScanHistory(context.applicationId)))
  }

  /** Records the result of an audit. An audit takes long, so its result is a record of its own. */
  def audited(
      ran: QueryExecution,
      execution: Long,
      scan: Int,
      time: Long,
      result: AuditResult
  ): Unit =
    if (isRecorded(ran)) record(ran)(Seq(ScanRecords.ofAudit(execution, scan, time, result)))

  private def isRecorded(ran: QueryExecution): Boolean = {
    val conf = ran.sparkSession.sessionState.conf
    Try(TamisConf.historyEnabled(conf) && TamisConf.mode(conf) != Mode.Off).getOrElse(false)
  }

  private def record(ran: QueryExecution)(records: => Seq[String]): Unit = quietly {
    // planning already reported a sidecar that does not run
    SidecarSupervisor.current.filter(_.isAlive).foreach { sidecar =>
      ran.sparkSession.withActive {
        records.foreach(each => complain(sidecar.planner.record(each)))
      }
    }
  }

  /** Waits until the scans of all queries that have ended are written, at most DeliveredMs for
    * Spark's events and DrainMs for the records.
    */
  def flush(context: SparkContext): Unit = {
    quietly(
      try SparkEvents.delivered(context, DeliveredMs)
      catch { case _: TimeoutException => } // other listeners of a busy driver
    )
    drain()
  }

  /** Waits at most DrainMs until the records so far are written. */
  def drain(): Unit = quietly {
    sending.drain(DrainMs) {
      SidecarSupervisor.current.filter(_.isAlive).foreach(s => complain(s.planner.flush()))
    }
  }

  /** Warns about an error that the sidecar reports for an earlier record; usually there is none. */
  private def complain(answer: String): Unit =
    if (answer != null && answer.nonEmpty) Warnings.once(s"history:$answer", answer)

  private def quietly(act: => Unit): Unit =
    AnyFailure.warned(
      _ => "history:failed",
      "a scan could not be recorded in the history",
      "Queries are not affected; spark.tamis.history.enabled=false turns the history off."
    )(act)(_ => ())
}
