package io.tamis.maintenance

import io.tamis.bridge.{PythonEnvironment, SidecarPython}
import io.tamis.conf.TamisConf
import io.tamis.report.SparkEvents
import io.tamis.wire.Json
import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID
import java.util.concurrent.TimeUnit

import scala.util.Try

import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.internal.SQLConf

/** One run of maintenance of the index of a table, in a Python process that runs its jobs in this
  * driver.
  *
  * @param table
  *   the path or table
  * @param session
  *   the session of the jobs
  * @param history
  *   the confs of the user's session, of which it uses those of the history
  * @param cost
  *   what the jobs of maintenance have cost so far, in all runs
  * @param left
  *   how many bytes may still be read in this hour
  */
final class MaintenanceRun private[maintenance] (
    val table: String,
    val session: ClassicSession,
    history: SQLConf,
    cost: () => Cost,
    left: () => Long
) {
  private[maintenance] val id: String = JobWatch.Prefix + UUID.randomUUID()
  private var taken = cost()
  @volatile private var process: Option[Process] = None
  @volatile private var isStopped = false
  @volatile private var isOverBudget = false
  @volatile private var failure: Option[String] = None

  /** For the process: how many bytes may still be read. */
  def bytesLeft(): Long = left()

  /** For the process: the time of tasks in nanoseconds, and bytes, of its jobs since the last call.
    */
  def takeCost(): Array[Long] = synchronized {
    MaintenanceRun.delivered(session)
    val now = cost()
    val since = now - taken
    taken = now
    Array(since.nanos, since.bytes)
  }

  /** For the process: a step has failed. The first failure counts. */
  def failed(why: String): Unit = if (failure.isEmpty) failure = Some(why)

  private[maintenance] def wasStopped: Boolean = isStopped
  private[maintenance] def wasOverBudget: Boolean = isOverBudget

  /** Ends the process. Its jobs are cancelled by the caller.
    *
    * @param overBudget
    *   because its jobs have cost too much, and not because of a user
    */
  private[maintenance] def stop(overBudget: Boolean = false): Unit = {
    if (!isStopped) isOverBudget = overBudget
    isStopped = true
    process.foreach(_.destroy())
  }

  /** Runs the process until it ends, or is stopped.
    *
    * @return
    *   why it failed; None if it did not, or was stopped
    */
  private[maintenance] def execute(): Option[String] = {
    val gateway = new SparkGateway(session.sparkContext.getConf)
    try {
      val python = SidecarPython.choose(TamisConf.python(session.sessionState.conf))
      val started =
        try start(python, gateway)
        catch { case e: IOException => return Some(s"cannot run $python (${e.getMessage})") }
      process = Some(started)
      if (isStopped) started.destroy()
      // the process ends with its standard input, so that stays open
      val input = started.getOutputStream
      Try {
        input.write((order + "\n").getBytes(UTF_8))
        input.flush()
      }
      // fails if the process is stopped
      val errors = Try(new String(started.getErrorStream.readAllBytes(), UTF_8)).getOrElse("")
      started.waitFor()
      Try(input.close())
      if (isStopped) None
      else if (started.exitValue == 0) failure
      else Some(s"$python ended with the exit code ${started.exitValue}: ${lastLine(errors)}")
    } finally {
      process.foreach(_.destroy())
      gateway.close()
    }
  }

  private def lastLine(text: String): String =
    text.linesIterator.map(_.trim).filter(_.nonEmpty).toSeq.lastOption.getOrElse("no message")

  private def order: String = Json.text(
    Json.obj(
      "run" -> id,
      "table" -> table,
      "keeps_history" -> TamisConf.historyEnabled(history),
      "history" -> TamisConf.historyLocation(history)
    )
  )

  private def start(python: String, gateway: SparkGateway): Process = {
    // -P: do not search the working directory for modules
    val builder = new ProcessBuilder(python, "-P", "-m", "tamis.maintenance.worker")
      .redirectOutput(ProcessBuilder.Redirect.DISCARD)
    val own = Seq(
      "PYSPARK_GATEWAY_PORT" -> gateway.port.toString,
      "PYSPARK_GATEWAY_SECRET" -> gateway.secret,
      "PYSPARK_PIN_THREAD" -> "true"
    )
    val inherited = SidecarPython.sparkConf("spark.pyspark.python").map("PYSPARK_PYTHON" -> _) ++
      SidecarPython.packageRoot.map("PYTHONPATH" -> _.toString)
    PythonEnvironment.fill(builder, (own ++ inherited).toMap)
    builder.start()
  }
}

private object MaintenanceRun {
  private val DeliveredMs = TimeUnit.SECONDS.toMillis(5)

  /** Waits until the listeners know what the jobs have cost. */
  private def delivered(session: ClassicSession): Unit =
    Try(SparkEvents.delivered(session.sparkContext, DeliveredMs)): Unit
}
