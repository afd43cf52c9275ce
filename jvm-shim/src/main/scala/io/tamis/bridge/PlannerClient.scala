package io.tamis.bridge

import io.tamis.conf.TamisConf
import io.tamis.wire._
import java.util.concurrent._
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.sql.internal.SQLConf

/** Sends questions to the sidecar, each within a deadline. Any failure becomes PlannerUnavailable,
  * with one warning that says what to do.
  */
object PlannerClient {
  private val MostCalls = 16 // beyond this, a query is planned without tamis rather than queued
  private val names = new AtomicInteger()
  private val calls = new ThreadPoolExecutor(
    0,
    MostCalls,
    30,
    TimeUnit.SECONDS,
    new SynchronousQueue[Runnable],
    (task: Runnable) => Daemons.thread(s"tamis-call-${names.incrementAndGet()}")(task)
  )

  /** Returns how many files wait for an automatic index; None if the sidecar does not run or gives
    * no answer, which is not worth a warning.
    */
  def waiting(request: WaitingFilesRequest, conf: SQLConf): Option[Int] =
    SidecarSupervisor.current.filter(_.isAlive).flatMap { sidecar =>
      Try {
        val call = calls.submit(() => sidecar.planner.waiting(request.toJson))
        try request.read(call.get(TamisConf.timeoutMs(conf), TimeUnit.MILLISECONDS))
        finally call.cancel(true)
      }.toOption
    }

  /** Lets the sidecar open indexes while this driver does something else. Returns at once. A
    * failure means nothing: the question that needs the indexes reports it, if it happens again.
    */
  def openAhead(request: OpenIndexesRequest): Unit =
    SidecarSupervisor.current.filter(_.isAlive).foreach { sidecar =>
      Try(calls.execute(() => Try(sidecar.planner.openIndexes(request.toJson)): Unit))
    }

  /** Sends a request to a method of the planner, and reads the answer within the deadline.
    *
    * @param startWait
    *   how long the request may wait for the first sidecar of the driver; SidecarStarting is thrown
    *   if it takes longer
    */
  def ask[A](request: Request[A], conf: SQLConf, startWait: StartWait = StartWait.Full)(
      method: Planner => String => String
  ): A = {
    // the deadline covers everything, including the wait for the sidecar to start
    val timeoutMs = math.max(TamisConf.timeoutMs(conf), request.leastMs)
    // the product saturates, and the sum may wrap around: a difference from it is still right
    val deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs)
    var contacted: Option[Sidecar] = None
    try {
      val sidecar = SidecarSupervisor.await(
        TamisConf.python(conf),
        deadline,
        TamisConf.startTimeoutMs(conf),
        startWait
      )
      contacted = Some(sidecar)
      val call = calls.submit(() => method(sidecar.planner)(request.toJson))
      val answer =
        try call.get(math.max(1L, deadline - System.nanoTime()), TimeUnit.NANOSECONDS)
        catch { case e: TimeoutException => call.cancel(true); throw e }
      val understood = request.read(answer)
      SidecarSupervisor.succeeded()
      understood
    } catch {
      case open: PlannerUnavailable                                 => throw open
      case e if NonFatal(e) || e.isInstanceOf[InterruptedException] =>
        throw unavailable(e, contacted, tooSlow(timeoutMs, isOfConf = timeoutMs > request.leastMs))
    }
  }

  /** @param isOfConf
    *   the deadline is spark.tamis.timeout
    */
  private def tooSlow(timeoutMs: Long, isOfConf: Boolean): String =
    if (isOfConf)
      s"the planner gave no answer within $timeoutMs ms. If the storage of the index is slow, " +
        "raise spark.tamis.timeout."
    else s"the planner gave no answer within ${timeoutMs / 1000} s. Run the statement again."

  /** @param tooSlow
    *   what to say if the deadline has passed
    */
  private def unavailable(
      e: Throwable,
      contacted: Option[Sidecar],
      tooSlow: String
  ): PlannerUnavailable = {
    val cause = e match { case x: ExecutionException => x.getCause; case x => x }
    val (code, why) = cause match {
      case start: SidecarStartFailure => "start" -> start.getMessage
      case _: TimeoutException        =>
        contacted.foreach(SidecarSupervisor.hung)
        "deadline" -> tooSlow
      case _: RejectedExecutionException =>
        "busy" -> s"the planner is busy with $MostCalls other requests. Plan fewer queries at once."
      // the text of Python's error says what to do
      case refusal: PlannerFailure if refusal.code == PlannerFailure.Refused =>
        refusal.code -> s"the planner refused the request: ${refusal.getMessage}."
      case failure: PlannerFailure =>
        failure.code -> (s"the planner failed (${failure.getMessage}). Report this error, or set " +
          "spark.tamis.enabled=false.")
      case _: InterruptedException =>
        Thread.currentThread().interrupt()
        "interrupted" -> "the query was interrupted"
      case other if contacted.exists(_.isDying) =>
        "died" -> s"the sidecar died (${describe(other)}) and is being restarted."
      case other =>
        "call" -> s"the call to the sidecar failed (${describe(other)}). Run `python -m tamis doctor`."
    }
    val isLasting = cause match {
      case start: SidecarStartFailure => start.lasting
      case _                          => false
    }
    SidecarSupervisor.failed(contacted, why, isLasting)
    if (code != "interrupted")
      Warnings.once(
        s"bridge:$code",
        s"$why tamis continues without the answer: scans that need it read what plain Spark would " +
          "read.",
        cause
      )
    new PlannerUnavailable(why, cause)
  }

  /** Describes the innermost cause, which says what happened; py4j's own exceptions only say where.
    */
  private def describe(e: Throwable): String = {
    val innermost = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(10).toSeq.last
    val text = String.valueOf(innermost.getMessage).linesIterator.toSeq.headOption.getOrElse("")
    s"${innermost.getClass.getSimpleName}: $text"
  }
}
