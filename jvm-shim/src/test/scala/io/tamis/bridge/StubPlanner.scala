package io.tamis.bridge

import io.tamis.wire.Messages
import java.io.{InputStream, OutputStream}
import java.util.concurrent.CompletableFuture

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

/** What the stub answers to a question about a scan.
  *
  * @param kept
  *   ordinals of the kept files; None: all files
  * @param pushdown
  *   of every conjunct
  * @param pruned
  *   number of files that each conjunct prunes on its own
  * @param goal
  *   the answer to the goal of the question, as JSON
  * @param implied
  *   the ranges that a question about implied ranges gets, as JSON
  */
final case class StubAnswer(
    kept: Option[Seq[Int]] = None,
    pushdown: String = "inexact",
    pruned: Option[Long] = None,
    goal: String = StubAnswer.nothing("INDEX_MISSING"),
    implied: String = "[]"
)

object StubAnswer {

  /** The goal has no effect, for this reason. */
  def nothing(code: String): String =
    s"""{"kind":"nothing","reason":{"code":"$code","text":"the stub says $code","fix":null}}"""

  /** These files serve the goal. */
  def files(ordinals: Int*): String = s"""{"kind":"files","files":${only(ordinals)}}"""

  /** A set of files in the form of the wire protocol. */
  def only(ordinals: Seq[Int]): String =
    ordinals.map(i => s"[$i,${i + 1}]").mkString("""{"form":"ranges","data":[""", ",", "]}")
}

/** A planner in this JVM, which takes the place of the sidecar and starts no Python. */
object StubPlanner extends Planner {

  /** The value of spark.tamis.python for sessions that use the stub. */
  val Python = "stub"

  @volatile private var answers: JsonNode => StubAnswer = _ => StubAnswer()
  @volatile private var received: Vector[JsonNode] = Vector.empty
  @volatile private var recorded: Vector[String] = Vector.empty
  @volatile private var opened: Vector[JsonNode] = Vector.empty
  @volatile private var messages = 0

  /** Takes the place of the sidecar. Call it before a session with the extension is created, which
    * would start Python otherwise.
    */
  def install(): Unit = installWhen(CompletableFuture.completedFuture(sidecar))

  /** The same, as a sidecar that is ready when this is done. */
  private[bridge] def installWhen(ready: CompletableFuture[Sidecar]): Unit =
    SidecarSupervisor.synchronized {
      SidecarSupervisor.run = Some(SidecarSupervisor.Run(Python, 1000, ready))
      SidecarSupervisor.succeeded()
    }

  private[bridge] def sidecar: Sidecar =
    new Sidecar(Python, NoProcess, OutputStream.nullOutputStream, null, this, 0)

  /** Answers questions about scans like this, and forgets the questions received so far. */
  def answer(answers: JsonNode => StubAnswer): Unit = {
    this.answers = answers
    received = Vector.empty
    recorded = Vector.empty
    opened = Vector.empty
    messages = 0
    SidecarSupervisor.succeeded() // no test waits because another one let the planner fail
  }

  /** The questions about scans, oldest first. */
  def questions: Seq[JsonNode] = received

  /** The number of messages with several questions. */
  def batches: Int = messages

  /** The goals of these questions. */
  def goals: Seq[JsonNode] = received.map(_.path("goal")).filter(_.isObject)

  /** What was recorded for the history since then. */
  def records: Seq[String] = recorded

  /** The requests to open indexes since then. */
  def openings: Seq[JsonNode] = opened

  override def plan(request: String): String = {
    val question = Messages.mapper.readTree(request)
    received :+= question
    val answer = answers(question)
    val out = answered(question)
    out.put("fingerprint", question.at("/snapshot/fingerprint").asText)
    out.put("files", question.at("/snapshot/files").asInt)
    val kept = answer.kept.fold("""{"form":"all"}""")(StubAnswer.only)
    out.set[ObjectNode]("kept", Messages.mapper.readTree(kept))
    val conjuncts = out.putArray("conjuncts")
    (0 until question.path("conjuncts").size).foreach { _ =>
      val outcome = conjuncts.addObject().put("pushdown", answer.pushdown)
      answer.pruned.foreach { files =>
        outcome.put("pruned_files", files).putObject("pruned").put("files", files)
      }
    }
    out.set[ObjectNode]("goal", Messages.mapper.readTree(answer.goal))
    Messages.mapper.writeValueAsString(out)
  }

  override def plans(request: String): String = {
    val batch = Messages.mapper.readTree(request)
    messages += 1
    val out = answered(batch)
    val answers = out.putArray("answers")
    batch.path("questions").forEach { each =>
      val answer =
        try Messages.mapper.readTree(plan(each.toString))
        catch { case NonFatal(e) => answered(each).set[ObjectNode]("error", failure(e)) }
      answers.add(answer): Unit
    }
    Messages.mapper.writeValueAsString(out)
  }

  private def failure(e: Throwable): ObjectNode =
    Messages.mapper.createObjectNode().put("code", "test").put("text", e.getMessage)

  override def imply(request: String): String = {
    val question = Messages.mapper.readTree(request)
    val out = answered(question)
    out.set[ObjectNode]("implied", Messages.mapper.readTree(answers(question).implied))
    Messages.mapper.writeValueAsString(out)
  }
  override def remote(request: String): String =
    throw new UnsupportedOperationException("the stub knows no remote tables")
  override def remoteTasks(request: String): String = remote(request)
  override def evidence(request: String): String =
    throw new UnsupportedOperationException("the stub has no evidence")
  override def history(request: String): String =
    throw new UnsupportedOperationException("the stub has no history")
  override def written(request: String): String =
    throw new UnsupportedOperationException("no test writes")
  override def openIndexes(request: String): String = {
    val opening = Messages.mapper.readTree(request)
    opened :+= opening
    Messages.mapper.writeValueAsString(answered(opening))
  }
  override def waiting(request: String): String =
    throw new UnsupportedOperationException("the stub builds no indexes")
  override def icebergFiles(request: String): String =
    throw new UnsupportedOperationException("the stub reads no manifests")
  override def ping(): String = "pong"
  override def learn(request: String): String =
    Messages.mapper.writeValueAsString(answered(Messages.mapper.readTree(request)))
  override def remembered(request: String): String =
    throw new UnsupportedOperationException("the stub remembers nothing")
  override def record(scan: String): String = { recorded :+= scan; "" }
  override def flush(): String = ""

  private def answered(question: JsonNode): ObjectNode =
    Messages.mapper
      .createObjectNode()
      .put("version", Messages.Version)
      .put("id", question.path("id").asText)

  /** A process that never ends and does nothing. */
  private object NoProcess extends Process {
    override def getOutputStream: OutputStream = OutputStream.nullOutputStream
    override def getInputStream: InputStream = InputStream.nullInputStream
    override def getErrorStream: InputStream = InputStream.nullInputStream
    override def waitFor(): Int = throw new UnsupportedOperationException
    override def waitFor(timeout: Long, unit: java.util.concurrent.TimeUnit): Boolean = false
    override def exitValue(): Int = throw new IllegalThreadStateException("it runs")
    override def isAlive: Boolean = true
    override def pid(): Long = -1
    override def destroy(): Unit = ()
    override def destroyForcibly(): Process = this
  }
}
