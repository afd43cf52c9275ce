package io.tamis.remote

import io.tamis.bridge.{Daemons, PythonEnvironment}
import java.io.{EOFException, IOException}
import java.net.{StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.ByteBuffer
import java.nio.channels.{ReadableByteChannel, ServerSocketChannel, SocketChannel}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.collection.mutable
import scala.util.Try

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch
import org.apache.spark.SparkException

/** How to start a process that reads tasks.
  *
  * @param interpreter
  *   the Python of executors
  * @param environment
  *   variables for it, besides those of the executor
  * @param text
  *   the program (tamis.remote.program)
  */
final case class TaskProgram(interpreter: String, environment: Map[String, String], text: String) {
  override def toString: String = s"TaskProgram($interpreter)"
}

/** A Python process on an executor that reads tasks of remote tables, one after the other. It
  * belongs to one task at a time, and waits for the next one for a minute.
  */
private[remote] final class TaskProcess(
    program: TaskProgram,
    process: Process,
    channel: SocketChannel
) {

  /** What the process shares, if both sides can share memory. */
  private val memory: Option[SharedMemory] = {
    val path = readText()
    val mapped = if (path.isEmpty) None else SharedMemory.map(Path.of(path))
    writeNumber(mapped.size)
    mapped
  }

  def incoming: ReadableByteChannel = channel

  /** Returns the batch at a place in the shared memory. The process may use this memory again after
    * the batch is released.
    */
  def sharedBatch(place: Int, allocator: BufferAllocator): ArrowRecordBatch =
    memory
      .getOrElse(throw new IOException("the process shares no memory"))
      .batch(place, allocator) {
        // if the process has ended, reading the next batch says so
        () => Try(writeNumber(place))
      }

  /** Sends blocks of bytes, each after its length. */
  def send(blocks: Array[Byte]*): Unit = blocks.foreach { block =>
    writeFully(ByteBuffer.allocate(4 + block.length).putInt(block.length).put(block))
  }

  /** Reads a text after its length.
    *
    * @throws java.io.EOFException
    *   the process has ended
    */
  def readText(): String = UTF_8.decode(readFully(readNumber())).toString

  def readNumber(): Int = readFully(4).getInt

  private def writeNumber(number: Int): Unit = writeFully(ByteBuffer.allocate(4).putInt(number))

  private def writeFully(message: ByteBuffer): Unit = {
    message.flip()
    while (message.hasRemaining) channel.write(message)
  }

  private def readFully(bytes: Int): ByteBuffer = {
    val buffer = ByteBuffer.allocate(bytes)
    while (buffer.hasRemaining) if (channel.read(buffer) < 0) throw new EOFException()
    buffer.flip()
  }

  def isAlive: Boolean = process.isAlive && channel.isOpen

  /** Waits for a process that has ended, and says how. */
  def end(): String = {
    val end =
      if (process.waitFor(5, TimeUnit.SECONDS)) s"has ended (exit code ${process.exitValue})"
      else "has closed its connection"
    s"reading failed: the Python process that reads the table $end. The log of the executor may say " +
      "why."
  }

  /** Makes the process available for another task. */
  def release(): Unit = TaskProcess.keep(program, this)

  def kill(): Unit = {
    Try(channel.close())
    process.destroy()
  }
}

private[remote] object TaskProcess {
  private val StartSeconds = 60
  private val IdleSeconds = 60L

  /** glibc returns the memory of every batch to the system, which clears its pages for the next
    * one. This took a third of the processor time of a process that reads over Flight.
    */
  private val Allocator = Map(
    "MALLOC_MMAP_THRESHOLD_" -> (32 << 20).toString,
    "MALLOC_TRIM_THRESHOLD_" -> (64 << 20).toString
  )

  private final case class Idle(process: TaskProcess, since: Long) {
    def isOver: Boolean = System.nanoTime() - since > TimeUnit.SECONDS.toNanos(IdleSeconds)
  }
  private val idle = mutable.Map.empty[TaskProgram, List[Idle]]

  private lazy val cleaner = Daemons.thread("tamis-idle-readers") { () =>
    while (true) {
      Thread.sleep(TimeUnit.SECONDS.toMillis(IdleSeconds) / 4)
      endIdle()
    }
  }

  /** Returns a process that no other task uses. */
  def take(program: TaskProgram): TaskProcess = {
    val waiting = idle.synchronized {
      val (dead, alive) = idle.getOrElse(program, Nil).span(!_.process.isAlive)
      dead.foreach(_.process.kill())
      idle(program) = alive.drop(1)
      alive.headOption
    }
    waiting.fold(start(program))(_.process)
  }

  private def keep(program: TaskProgram, process: TaskProcess): Unit = {
    idle.synchronized {
      idle(program) = Idle(process, System.nanoTime()) :: idle.getOrElse(program, Nil)
      if (cleaner.getState == Thread.State.NEW) cleaner.start()
    }
  }

  private def endIdle(): Unit = {
    val over = idle.synchronized {
      val (ended, kept) = idle.toSeq.partitionMap { case (program, waiting) =>
        val (old, young) = waiting.partition(_.isOver)
        if (young.isEmpty) Left(old) else Right((program -> young, old))
      }
      idle.clear()
      idle ++= kept.map(_._1)
      ended.flatten ++ kept.flatMap(_._2)
    }
    over.foreach(_.process.kill())
  }

  private def start(program: TaskProgram): TaskProcess = {
    val directory = Files.createTempDirectory("tamis") // only this user can open it
    try {
      val path = directory.resolve("reader")
      val server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)
      try {
        server.bind(UnixDomainSocketAddress.of(path))
        val process = launch(program, path)
        try connect(program, process, accept(server, process, program))
        catch { case e: Throwable => process.destroy(); throw e }
      } finally {
        server.close()
        Files.deleteIfExists(path)
      }
    } finally Files.delete(directory)
  }

  private def launch(program: TaskProgram, path: Path): Process = {
    // -P: do not search the working directory for modules
    val builder =
      new ProcessBuilder(program.interpreter, "-P", "-c", program.text, path.toString)
        .redirectOutput(ProcessBuilder.Redirect.INHERIT)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
    PythonEnvironment.fill(builder, program.environment)
    Allocator.foreach { case (name, value) => builder.environment.putIfAbsent(name, value) }
    try builder.start()
    catch {
      case e: IOException =>
        throw new SparkException(PythonEnvironment.missing(program.interpreter, e), e)
    }
  }

  private def connect(
      program: TaskProgram,
      process: Process,
      channel: SocketChannel
  ): TaskProcess =
    try new TaskProcess(program, process, channel)
    catch { case e: IOException => channel.close(); throw unusable(program, e) }

  private def unusable(program: TaskProgram, cause: Throwable) = new SparkException(
    s"the Python interpreter ${program.interpreter} cannot read remote tables: its process " +
      s"ended, or did not connect within $StartSeconds s. It needs pyspark and pyarrow on " +
      "every executor. The log of the executor may say more.",
    cause
  )

  /** Waits until the process connects, and no longer if it has ended. */
  private def accept(
      server: ServerSocketChannel,
      process: Process,
      program: TaskProgram
  ): SocketChannel = {
    server.configureBlocking(false)
    val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(StartSeconds)
    var connected = server.accept()
    while (connected == null) {
      if (!process.isAlive || System.nanoTime() > deadline)
        throw unusable(program, null)
      Thread.sleep(2)
      connected = server.accept()
    }
    connected.configureBlocking(true)
    connected
  }
}
