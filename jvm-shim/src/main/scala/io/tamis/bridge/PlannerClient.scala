package io.tamis.bridge

import java.util.concurrent._
import java.util.concurrent.atomic.AtomicInteger

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import io.tamis.conf.TamisConf
import io.tamis.wire.{
  HistoryRequest,
  ImpliedRequest,
  Messages,
  PlanAnswer,
  PlanRequest,
  PlannerFailure
}
import org.apache.spark.sql.internal.SQLConf

/** Asks the sidecar, within a deadline. Any failure becomes PlannerUnavailable, with one warning
  * that says what to do.
  */
object PlannerClient {
  private val MostCalls = 16 // beyond them the query is planned without tamis rather than queued
  private val ShownMs = 60000L
  private val names = new AtomicInteger()
  private val calls = new ThreadPoolExecutor(
    0,
    MostCalls,
    30,
    TimeUnit.SECONDS,
    new SynchronousQueue[Runnable],
    (task: Runnable) => Daemons.thread(s"tamis-call-${names.incrementAndGet()}")(task)
  )

  /** Which files a scan needs. */
  def plan(request: PlanRequest, conf: SQLConf): PlanAnswer =
    ask(conf, _.plan(request.toJson), Messages.readAnswer(_, request))

  /** Which ranges follow from predicates: to be read with ImpliedReader. */
  def imply(request: ImpliedRequest, conf: SQLConf): JsonNode =
    ask(conf, _.imply(request.toJson), Messages.readImplied(_, request))

  /** Has the sidecar write down what statistics say of each file: to be read as an [[ArrowFile]].
    */
  def evidence(request: PlanRequest, conf: SQLConf): Unit =
    ask(conf, _.evidence(request.toJson), Messages.readWritten(_, request.id), ShownMs)

  /** The same of the history. */
  def history(request: HistoryRequest, conf: SQLConf): Seq[String] =
    ask(conf, _.history(request.toJson), Messages.readWritten(_, request.id), ShownMs)

  /** @param atLeastMs
    *   a person waits for the answer, and no query: then it may take longer
    */
  private def ask[A](
      conf: SQLConf,
      send: Planner => String,
      read: String => A,
      atLeastMs: Long = 0
  ): A = {
    // for everything: waiting for the sidecar to start included
    val timeoutMs = math.max(TamisConf.timeoutMs(conf), atLeastMs)
    val deadline = System.nanoTime() + timeoutMs * 1000000L
    var asked: Option[Sidecar] = None
    try {
      val sidecar = SidecarSupervisor.await(
        TamisConf.python(conf),
        deadline,
        TamisConf.startTimeoutMs(conf)
      )
      asked = Some(sidecar)
      val call = calls.submit(() => send(sidecar.planner))
      val answer =
        try call.get(math.max(1L, deadline - System.nanoTime()), TimeUnit.NANOSECONDS)
        catch { case e: TimeoutException => call.cancel(true); throw e }
      val understood = read(answer)
      SidecarSupervisor.succeeded()
      understood
    } catch {
      case closed: PlannerUnavailable                               => throw closed
      case e if NonFatal(e) || e.isInstanceOf[InterruptedException] =>
        throw unavailable(e, asked, timeoutMs)
    }
  }

  private def unavailable(
      e: Throwable,
      asked: Option[Sidecar],
      timeoutMs: Long
  ): PlannerUnavailable = {
    val cause = e match { case x: ExecutionException => x.getCause; case x => x }
    val (code, why, lasting) = cause match {
      case start: SidecarStartFailure => ("start", start.getMessage, start.lasting)
      case _: TimeoutException        =>
        asked.foreach(SidecarSupervisor.hung)
        (
          "deadline",
          s"no answer within $timeoutMs ms. If the storage of the index is slow, raise spark.tamis.timeoutMs.",
          false
        )
      case _: RejectedExecutionException => ("busy", s"$MostCalls questions are under way.", false)
      case failure: PlannerFailure       =>
        (
          failure.code,
          s"the planner failed: ${failure.getMessage}. Report it, or set spark.tamis.enabled=false.",
          false
        )
      case _: InterruptedException =>
        Thread.currentThread().interrupt(); ("interrupted", "the query was interrupted", false)
      case other if asked.exists(_.isDying) =>
        ("died", s"the sidecar died (${describe(other)}); it is started again.", false)
      case other => ("call", s"the call failed (${describe(other)}).", false)
    }
    SidecarSupervisor.failed(asked, why, lasting)
    if (code != "interrupted")
      Warnings.once(
        s"bridge:$code",
        s"$why This query runs as plain Spark, without pruning.",
        cause
      )
    new PlannerUnavailable(why, cause)
  }

  /** The innermost cause says what happened; py4j's own exceptions only say where. */
  private def describe(e: Throwable): String = {
    val innermost = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(10).toSeq.last
    val text = String.valueOf(innermost.getMessage).linesIterator.toSeq.headOption.getOrElse("")
    s"${innermost.getClass.getSimpleName}: $text"
  }
}
