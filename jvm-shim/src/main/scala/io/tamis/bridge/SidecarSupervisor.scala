package io.tamis.bridge

import io.tamis.conf.{Mode, TamisConf}
import java.nio.file.{Files, Path}
import java.util.concurrent._
import java.util.concurrent.atomic.AtomicBoolean

import scala.collection.mutable
import scala.util.Try

import org.apache.hadoop.util.ShutdownHookManager
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

/** Keeps one sidecar running, and stops sending requests to it for a while after failures.
  *
  * It contains a circuit breaker: after a failure no request is sent for a while (1 s, doubling to
  * 60 s with each further consecutive failure). A query that plans a scan five times then waits for
  * one deadline and not for five. A process that died is restarted at once.
  */
object SidecarSupervisor {
  private val log = LoggerFactory.getLogger("io.tamis.sidecar")
  private val FirstPauseMs = 1000L
  private val LongestPauseMs = 60000L
  private val PingMs = 1000L
  private val HangsBeforeRestart = 3
  private val DeathsBeforePause = 3
  private val FlushMs = 2000L
  private val LateHook = 1 // Spark's hooks have priority 40 or higher

  private val background: ExecutorService =
    Executors.newCachedThreadPool(Daemons.factory("tamis-supervisor"))

  /** One start of the sidecar: done when it is ready, or failed. */
  private[bridge] final case class Run(
      python: String,
      startTimeoutMs: Long,
      future: CompletableFuture[Sidecar]
  ) {
    def sidecar: Option[Sidecar] = Try(future.getNow(null)).toOption.flatMap(Option(_))
    def isUsable: Boolean = !future.isDone || sidecar.exists(_.isAlive)
  }

  private[bridge] var run: Option[Run] = None

  /** Whether a query has asked for the sidecar. */
  @volatile private[tamis] var isInUse = false

  /** Whether a sidecar of this driver has been ready; if not, the first one is still starting. */
  @volatile private[bridge] var hasBeenReady = false
  private val saidStarting = new AtomicBoolean()
  private var failures = 0
  private var hangs = 0
  private var openUntil = System.nanoTime()
  private var lastFailure = ""

  /** Directory where snapshots are exchanged: only this user can read it, and it is removed at
    * exit. If something else removes it, such as a job that cleans /tmp, there will be another one.
    */
  def privateDirectory: Path = directories.synchronized {
    if (directories.lastOption.forall(!Files.isDirectory(_)))
      directories += Files.createTempDirectory("tamis-") // mode 0700
    directories.last
  }

  private lazy val directories: mutable.ArrayBuffer[Path] = {
    // after Spark's own hook, which stops contexts that are still running: the sidecar may then
    // still have records to write
    ShutdownHookManager
      .get()
      .addShutdownHook(
        () => {
          current.filter(_.isAlive).foreach(_.flushRecords(FlushMs))
          directories.synchronized(directories.toSeq).foreach { directory =>
            Try(Files.list(directory).forEach(f => Files.deleteIfExists(f)))
            Try(Files.deleteIfExists(directory))
          }
          restart()
        },
        LateHook
      )
    mutable.ArrayBuffer.empty
  }

  /** Starts the sidecar in the background, so that it is ready before the first query is planned:
    * importing pyarrow takes longer than planning.
    *
    * @param conf
    *   the confs that the application was started with
    * @param ready
    *   called in the background once the sidecar has started, if it was not running before
    * @return
    *   the run of the sidecar, once it has begun; None in the mode Off, which needs none
    */
  def warmUp(conf: SQLConf, ready: Sidecar => Unit = _ => ()): Option[Future[Run]] =
    Option.unless(TamisConf.mode(conf) == Mode.Off)(background.submit { () =>
      privateDirectory
      val python = SidecarPython.choose(TamisConf.python(conf))
      synchronized(run.getOrElse {
        val started = launch(python, TamisConf.startTimeoutMs(conf))
        started.future.thenAcceptAsync(ready(_), background)
        started
      })
    })

  /** Forgets every failure and restarts the sidecar. For callers that have fixed the cause. */
  def restart(): Unit = synchronized {
    // a sidecar that is still starting is killed as soon as it is up
    run.foreach(_.future.whenComplete((sidecar, _) => if (sidecar != null) sidecar.kill()))
    run = None
    succeeded()
    Warnings.resolved("bridge:")
  }

  /** Returns the running sidecar, and waits until the deadline for it to be ready. Throws
    * PlannerUnavailable while the breaker is open.
    *
    * @param startWait
    *   how long to wait if no sidecar of this driver has been ready yet; then throws
    *   SidecarStarting
    */
  def await(
      configuredPython: Option[String],
      deadlineNanos: Long,
      startTimeoutMs: Long,
      startWait: StartWait
  ): Sidecar = {
    isInUse = true
    val python = SidecarPython.choose(configuredPython)
    val wanted = synchronized {
      if (!run.exists(_.python == python)) restart() // the failures were those of another Python
      if (System.nanoTime() - openUntil < 0) throw new PlannerUnavailable(lastFailure)
      run.filter(_.isUsable).getOrElse(launch(python, startTimeoutMs))
    }
    val began = System.nanoTime()
    val untilDeadline = math.max(1L, deadlineNanos - began)
    val isFirst = !hasBeenReady && !wanted.future.isDone
    val patience = if (isFirst) startWait.nanos(untilDeadline) else untilDeadline
    try wanted.future.get(patience, TimeUnit.NANOSECONDS)
    catch {
      case e: ExecutionException                           => throw e.getCause
      case _: TimeoutException if patience < untilDeadline =>
        if (!saidStarting.getAndSet(true))
          log.info(
            "a query did not wait for the sidecar, which is still starting, because this could " +
              "have taken longer than reading its files. Later queries will use the sidecar."
          )
        throw new SidecarStarting
      case _: TimeoutException =>
        throw new SidecarStartFailure(
          s"the sidecar ($python) is still starting. Later queries will use it. If this happens " +
            "often, raise spark.tamis.timeout.",
          lasting = false
        )
    } finally if (isFirst) startWait.spend(System.nanoTime() - began)
  }

  def succeeded(): Unit = synchronized {
    if (failures > 0) Warnings.resolved("bridge:")
    failures = 0
    hangs = 0
    openUntil = System.nanoTime()
  }

  /** Records a failed request. The breaker opens, unless the process died and fewer than
    * `DeathsBeforePause` requests in a row have failed. A process that died is restarted at once.
    */
  def failed(contacted: Option[Sidecar], why: String, lasting: Boolean): Unit = synchronized {
    failures += 1
    lastFailure = why
    val pauseMs =
      if (lasting) LongestPauseMs
      else math.min(LongestPauseMs, FirstPauseMs << math.min(failures - 1, 6))
    val died = contacted.exists(!_.isAlive)
    if (!died || failures >= DeathsBeforePause) openUntil = System.nanoTime() + pauseMs * 1000000L
    if (died) run.filter(_.sidecar == contacted).foreach(r => launch(r.python, r.startTimeoutMs))
  }

  /** Handles a call that exceeded its deadline. A process that does not even answer a ping is
    * killed. A slow one gets more time, and is killed after `HangsBeforeRestart` such calls.
    */
  def hung(sidecar: Sidecar): Unit = background.execute { () =>
    val ping = background.submit(() => sidecar.planner.ping())
    val answers = Try(ping.get(PingMs, TimeUnit.MILLISECONDS)).isSuccess
    synchronized {
      hangs += 1
      if (!answers || hangs >= HangsBeforeRestart) {
        val why =
          if (answers) s"exceeded its deadline $HangsBeforeRestart times"
          else "did not answer a ping"
        log.info(s"killed the sidecar (pid ${sidecar.pid}), which $why")
        hangs = 0
        sidecar.kill()
      }
    }
  }

  /** The sidecar, if it is ready. */
  def current: Option[Sidecar] = synchronized(run.flatMap(_.sidecar))

  private def launch(python: String, timeoutMs: Long): Run = {
    val started = Run(
      python,
      timeoutMs,
      CompletableFuture.supplyAsync[Sidecar](
        () => {
          val sidecar = Sidecar.start(python, timeoutMs)
          hasBeenReady = true
          sidecar
        },
        background
      )
    )
    run = Some(started)
    started
  }
}
