package io.tamis.bridge

import java.nio.file.{Files, Path}
import java.util.concurrent._

import scala.util.Try

import org.slf4j.LoggerFactory

/** Keeps one sidecar running, and knows when not to ask it.
  *
  * Breaker: after a failure nobody asks for a while (1 s, doubling to 60 s with every further failure in
  * a row), so that a query that plans a scan five times waits for one deadline and not for five. A
  * process that died is started again at once.
  */
object SidecarSupervisor {
  private val log = LoggerFactory.getLogger("io.tamis.sidecar")
  private val FirstPauseMs = 1000L
  private val LongestPauseMs = 60000L
  private val PingMs = 1000L
  private val HangsBeforeRestart = 3
  private val StartMs = 20000L

  private val background: ExecutorService = Executors.newCachedThreadPool { (task: Runnable) =>
    val thread = new Thread(task, "tamis-supervisor"); thread.setDaemon(true); thread
  }

  private var starting: Option[(String, CompletableFuture[Sidecar])] = None
  private var failures = 0
  private var closedUntil = 0L // System.nanoTime
  private var lastFailure = ""
  private var hangs = 0

  /** Where snapshots are exchanged: readable by this user only, removed at exit. */
  lazy val privateDirectory: Path = {
    val directory = Files.createTempDirectory("tamis-") // mode 0700
    Runtime.getRuntime.addShutdownHook(new Thread(() => {
      current.foreach(_.kill())
      Try(Files.list(directory).forEach(f => Files.deleteIfExists(f)))
      Try(Files.deleteIfExists(directory))
    }, "tamis-shutdown"))
    directory
  }

  /** Starts the sidecar in the background, so that it is ready before the first query is planned. */
  def warmUp(): Unit = background.execute { () =>
    privateDirectory
    val python = SidecarPython.choose(SidecarPython.sparkConf("spark.tamis.python"))
    synchronized(if (starting.isEmpty) launch(python, StartMs))
  }

  /** The running sidecar, waiting for it to be ready until the deadline. */
  def await(configuredPython: Option[String], deadlineNanos: Long, startTimeoutMs: Long): Sidecar = {
    val python = SidecarPython.choose(configuredPython)
    val ready = synchronized {
      starting match {
        case Some((started, future)) if started == python && isUsable(future) => future
        case _ if System.nanoTime() < closedUntil => throw new PlannerUnavailable(lastFailure)
        case old =>
          old.foreach { case (_, future) => if (future.isDone) Try(future.getNow(null)).toOption.filter(_ != null).foreach(_.kill()) }
          launch(python, startTimeoutMs)
      }
    }
    try ready.get(math.max(1L, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS)
    catch {
      case e: ExecutionException => throw new PlannerUnavailable(e.getCause.getMessage, e.getCause)
      case _: TimeoutException => throw new PlannerUnavailable("the sidecar is still starting")
    }
  }

  /** None: ask. Some(why): a failure a moment ago, so do not. */
  def closed: Option[String] = synchronized(if (System.nanoTime() < closedUntil) Some(lastFailure) else None)

  def succeeded(): Unit = synchronized {
    if (failures > 0) Warnings.over("bridge:")
    failures = 0
    hangs = 0
    closedUntil = 0L
  }

  /** A call failed. @return the text that was not yet said */
  def failed(sidecar: Option[Sidecar], why: String, lasting: Boolean): Unit = synchronized {
    failures += 1
    lastFailure = why
    val pause = if (lasting) LongestPauseMs else math.min(LongestPauseMs, FirstPauseMs << math.min(failures - 1, 6))
    closedUntil = System.nanoTime() + pause * 1000000L
    sidecar.filterNot(_.isAlive).foreach { dead =>
      if (failures < 3) closedUntil = 0L
      starting.filter(_._2.getNow(null) eq dead).foreach { case (python, _) => dead.kill(); launch(python, StartMs) }
    }
  }

  /** A call did not end in time. A process that does not even answer a ping is ended; a slow one is given time. */
  def hung(sidecar: Sidecar): Unit = background.execute { () =>
    val ping = background.submit(() => sidecar.planner.ping())
    val answers = Try(ping.get(PingMs, TimeUnit.MILLISECONDS)).isSuccess
    synchronized {
      hangs += 1
      if (!answers || hangs >= HangsBeforeRestart) {
        log.info(s"sidecar ${sidecar.pid} ${if (answers) "hangs" else "does not answer"}: ended")
        hangs = 0
        sidecar.kill()
      }
    }
  }

  def current: Option[Sidecar] = synchronized(starting.flatMap { case (_, future) => Try(future.getNow(null)).toOption.flatMap(Option(_)) })

  private def isUsable(future: CompletableFuture[Sidecar]): Boolean =
    !future.isDone || Try(future.getNow(null)).toOption.exists(s => s != null && s.isAlive)

  private def launch(python: String, timeoutMs: Long): CompletableFuture[Sidecar] = {
    val future = CompletableFuture.supplyAsync[Sidecar](() => Sidecar.start(python, timeoutMs), background)
    starting = Some(python -> future)
    future
  }
}
