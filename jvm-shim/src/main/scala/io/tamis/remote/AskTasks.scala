package io.tamis.remote

import io.tamis.bridge.{PlannerClient, PlannerUnavailable, PythonEnvironment}
import io.tamis.conf.TamisConf
import io.tamis.wire.{RemoteTasks, RemoteTasksQuestion}
import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkException
import org.apache.spark.sql.internal.SQLConf

/** Asks for the parts of a scan: the planner, or else a process of its own, as Spark starts for
  * every scan of a Python data source.
  */
object AskTasks {

  /** Returns the parts.
    *
    * @param where
    *   the table and the server, for errors
    * @param tasks
    *   into how many tasks the source may combine parts
    */
  def apply(
      table: RemoteTable,
      request: RemoteRequest,
      where: String,
      tasks: Option[Long]
  ): Seq[RemotePart] = {
    val source = table.session.sessionState.dataSourceManager.lookupDataSource(table.format)
    val interpreter = SparkPython.interpreter(source)
    val environment = SparkPython.environment(source).asScala.toMap
    val question = RemoteTasksQuestion(
      table.format,
      table.options.asCaseSensitiveMap().asScala.toMap ++ request.options(table.schema) ++
        tasks.map(n => "tamis.tasks" -> n.toString),
      request.columns.json
    )
    val answer =
      ofPlanner(question).getOrElse(ofProcess(question, interpreter, environment, where))
    answer.problem.foreach(text => throw new SparkException(text))
    val program = TaskProgram(interpreter, environment, answer.program)
    answer.tasks.map(task => new RemotePart(where, program, answer.reader, task))
  }

  /** None if the planner is not available, or the server is slower than the planner may be. */
  private def ofPlanner(question: RemoteTasksQuestion): Option[RemoteTasks] = {
    val conf = SQLConf.get
    val seconds = TamisConf.timeoutMs(conf) * AskSource.Share / 1000
    try
      Some(PlannerClient.ask(question.copy(seconds = Some(seconds)), conf)(_.remoteTasks))
        .filter(!_.isLate)
    catch { case _: PlannerUnavailable => None } // the failure was already reported
  }

  private def ofProcess(
      question: RemoteTasksQuestion,
      interpreter: String,
      environment: Map[String, String],
      where: String
  ): RemoteTasks = {
    val builder = new ProcessBuilder(interpreter, "-P", "-m", "tamis.serve.remote")
      .redirectError(ProcessBuilder.Redirect.INHERIT)
    PythonEnvironment.fill(builder, environment)
    val process =
      try builder.start()
      catch {
        case e: IOException => throw failure(where, PythonEnvironment.missing(interpreter, e), e)
      }
    try {
      val stdin = process.getOutputStream
      try stdin.write(question.toJson.getBytes(UTF_8))
      finally stdin.close()
      val answer = new String(process.getInputStream.readAllBytes(), UTF_8)
      if (process.waitFor() != 0)
        throw failure(
          where,
          s"$interpreter ended with the exit code ${process.exitValue}. It needs the tamis package. " +
            s"${PythonEnvironment.Choice} a Python that has the package. The standard error of " +
            "the driver may say more.",
          null
        )
      RemoteTasks.read(answer, question)
    } finally process.destroy()
  }

  private def failure(where: String, problem: String, cause: Throwable): SparkException =
    new SparkException(s"$where: planning the scan failed: $problem", cause)
}
