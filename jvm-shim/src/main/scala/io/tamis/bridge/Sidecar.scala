package io.tamis.bridge

import io.tamis.wire.Messages
import java.io.{BufferedReader, IOException, InputStreamReader, OutputStream}
import java.net.InetAddress
import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom
import java.util.Base64
import java.util.concurrent.{CompletableFuture, ExecutionException, TimeUnit, TimeoutException}

import scala.util.Try

import com.fasterxml.jackson.databind.ObjectMapper
import org.slf4j.LoggerFactory
import py4j.{CallbackClient, Gateway, GatewayServer}

/** A running Python process that serves a [[Planner]] on the loopback interface to clients that
  * know its token.
  */
final class Sidecar private[bridge] (
    val python: String,
    process: Process,
    stdin: OutputStream,
    client: CallbackClient,
    val planner: Planner,
    val port: Int
) {
  def pid: Long = process.pid()
  def isAlive: Boolean = process.isAlive

  /** Whether the process is dead or about to die: its connections break before the process is
    * reaped.
    */
  def isDying: Boolean = process.waitFor(500, TimeUnit.MILLISECONDS)

  /** Lets the process write the records that it has received, and waits at most `timeoutMs` for
    * that.
    */
  def flushRecords(timeoutMs: Long): Unit = Try {
    CompletableFuture
      .supplyAsync[String](() => planner.flush())
      .get(timeoutMs, TimeUnit.MILLISECONDS)
  }

  /** Kills the process at once, even if it is stopped (SIGSTOP). Calls in progress fail, which
    * frees their threads.
    */
  def kill(): Unit = {
    process.destroyForcibly()
    Try(stdin.close())
    Try(client.shutdown())
  }
}

/** The sidecar could not be started; `lasting` if a retry soon afterwards would fail as well. */
final class SidecarStartFailure(message: String, val lasting: Boolean)
    extends RuntimeException(message)

object Sidecar {
  private val log = LoggerFactory.getLogger("io.tamis.sidecar")
  private val ReadTimeoutMs =
    120000 // the client enforces the deadline of a call; this timeout only frees forgotten threads
  private val random = new SecureRandom()
  private val SetPython = "Set spark.tamis.python to an interpreter that has the tamis package."

  def newToken(): String = {
    val bytes = new Array[Byte](32)
    random.nextBytes(bytes)
    Base64.getUrlEncoder.withoutPadding.encodeToString(bytes)
  }

  /** Starts the process and waits until it reports that it is ready. */
  def start(python: String, timeoutMs: Long): Sidecar = {
    GatewayServer.turnLoggingOff()
    val process = launch(python)
    val errors = new LastLines(process)
    try {
      val token = newToken()
      val stdin = process.getOutputStream
      stdin.write(s"""{"token":"$token","wire":${Messages.Version}}\n""".getBytes(UTF_8))
      stdin.flush() // and left open: end of file signals to the sidecar that the driver is gone
      val port = handshake(process, timeoutMs, python, errors)
      // minConnectionTime 0, or the JVM never exits; a socket without TCP_NODELAY costs 44 ms for 8
      // kB
      val client = new CallbackClient(
        port,
        InetAddress.getLoopbackAddress,
        token,
        0L,
        TimeUnit.SECONDS,
        NoDelaySockets,
        true,
        ReadTimeoutMs
      )
      val planner = client
        .getPythonServerEntryPoint(new Gateway(null, client), Array[Class[_]](classOf[Planner]))
        .asInstanceOf[Planner]
      new Sidecar(python, process, stdin, client, planner, port)
    } catch {
      // killing the process closes its streams, and loses error lines that were not read yet
      case e: Throwable =>
        try throw translate(e, python, errors)
        finally process.destroyForcibly()
    }
  }

  private def launch(python: String): Process = {
    // -P: do not search the working directory for modules
    val builder = new ProcessBuilder(python, "-P", "-m", "tamis.serve")
    SidecarPython.packageRoot.foreach { root =>
      val path =
        Seq(root.toString) ++ Option(builder.environment.get("PYTHONPATH")).filter(_.nonEmpty)
      builder.environment.put("PYTHONPATH", path.mkString(java.io.File.pathSeparator))
    }
    builder.environment.put("PYTHONUNBUFFERED", "1")
    try builder.start()
    catch {
      case e: IOException =>
        throw new SidecarStartFailure(
          s"cannot run the Python interpreter $python (${e.getMessage}). $SetPython",
          lasting = true
        )
    }
  }

  private def handshake(
      process: Process,
      timeoutMs: Long,
      python: String,
      errors: LastLines
  ): Int = {
    val out = new BufferedReader(new InputStreamReader(process.getInputStream, UTF_8))
    val line = CompletableFuture
      .supplyAsync[String](() => out.readLine())
      .get(timeoutMs, TimeUnit.MILLISECONDS)
    if (line == null) {
      process.waitFor(1, TimeUnit.SECONDS)
      throw new SidecarStartFailure(diagnose(python, errors), lasting = true)
    }
    if (!line.startsWith("READY "))
      throw new SidecarStartFailure(
        s"the sidecar did not start: the Python interpreter $python printed '${line.take(80)}'. " +
          SetPython,
        lasting = true
      )
    val ready = new ObjectMapper().readTree(line.substring("READY ".length))
    val wire = ready.path("wire").asInt(-1)
    if (wire != Messages.Version)
      throw new SidecarStartFailure(
        s"the jar uses version ${Messages.Version} of the wire protocol, but tamis " +
          s"${ready.path("tamis").asText("?")} in $python uses $wire. Use the jar of that package " +
          "(python -m tamis jar), or install the package of this jar.",
        lasting = true
      )
    ready.path("port").asInt
  }

  private def diagnose(python: String, errors: LastLines): String = {
    val last = errors.text
    val missing =
      "No module named '?([A-Za-z0-9_.]+)".r.findFirstMatchIn(last).map(_.group(1).stripSuffix("."))
    missing match {
      case Some(module) =>
        s"the Python interpreter $python has no module '$module'. Install the tamis package there, " +
          "or set spark.tamis.python to an interpreter that has it."
      case None =>
        val why = if (last.isEmpty) "no output" else last.linesIterator.toSeq.last
        s"the Python interpreter $python exited before the sidecar was ready: $why. $SetPython"
    }
  }

  private def translate(e: Throwable, python: String, errors: LastLines): Throwable = e match {
    case known: SidecarStartFailure => known
    case _: TimeoutException        =>
      new SidecarStartFailure(
        s"the sidecar ($python) was not ready in time. Raise spark.tamis.startTimeout.",
        lasting = false
      )
    case failed: ExecutionException =>
      new SidecarStartFailure(
        s"cannot read the output of the sidecar ($python): ${failed.getCause}. " +
          "Run `python -m tamis doctor`.",
        lasting = false
      )
    // the token was written to a process that is already gone
    case _: IOException => new SidecarStartFailure(diagnose(python, errors), lasting = true)
    case other          => other
  }

  /** Reads the error stream to its end, logs it, and remembers the last lines for the warning. */
  private final class LastLines(process: Process) {
    private val lines = new java.util.ArrayDeque[String]()
    private val reader = Daemons.thread("tamis-sidecar-stderr") { () =>
      val in = new BufferedReader(new InputStreamReader(process.getErrorStream, UTF_8))
      try
        Iterator.continually(in.readLine()).takeWhile(_ != null).foreach { line =>
          log.info(line)
          lines.synchronized { lines.add(line); if (lines.size > 20) lines.removeFirst() }
        }
      catch { case _: IOException => } // the process is gone
    }
    reader.start()

    /** Waits for the last lines of a process that has ended, which a busy machine delivers late. */
    def text: String = {
      reader.join(5000)
      lines.synchronized(lines.toArray.mkString("\n"))
    }
  }

  private object NoDelaySockets extends javax.net.SocketFactory {
    import java.net.{InetAddress, Socket}
    private def noDelay(s: Socket): Socket = { s.setTcpNoDelay(true); s }
    override def createSocket(): Socket = noDelay(new Socket())
    override def createSocket(host: String, port: Int): Socket = noDelay(new Socket(host, port))
    override def createSocket(host: String, port: Int, local: InetAddress, localPort: Int): Socket =
      noDelay(new Socket(host, port, local, localPort))
    override def createSocket(host: InetAddress, port: Int): Socket = noDelay(
      new Socket(host, port)
    )
    override def createSocket(
        host: InetAddress,
        port: Int,
        local: InetAddress,
        localPort: Int
    ): Socket = noDelay(new Socket(host, port, local, localPort))
  }
}
