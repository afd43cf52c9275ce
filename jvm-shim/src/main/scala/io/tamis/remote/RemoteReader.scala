package io.tamis.remote

import java.io.EOFException

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.{BufferAllocator, RootAllocator}
import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.vectorized.ColumnarBatch

/** A part of a remote table. All fields are serialized with it: Spark may run the parts of a scan
  * with the reader factory of an earlier plan of it.
  *
  * @param where
  *   the table and the server, for errors
  * @param reader
  *   what converts the rows, pickled (tamis.remote.executor)
  * @param task
  *   what reads the rows, pickled. It may contain a token, so it is in no text.
  */
final class RemotePart(
    val where: String,
    val program: TaskProgram,
    val reader: Array[Byte],
    val task: Array[Byte]
) extends InputPartition {
  override def toString: String = s"a part of $where"
}

/** Reads parts in Python processes, as columns: Spark's reader of Python data sources turns every
  * batch into rows, and plans every scan in a process of its own.
  */
object RemoteReaderFactory extends PartitionReaderFactory {
  override def supportColumnarReads(part: InputPartition): Boolean = true
  override def createColumnarReader(part: InputPartition): PartitionReader[ColumnarBatch] =
    new RemoteReader(part.asInstanceOf[RemotePart])
  override def createReader(part: InputPartition): PartitionReader[InternalRow] =
    throw new UnsupportedOperationException("the parts of remote tables are read as columns")
  private def readResolve(): AnyRef = RemoteReaderFactory
}

private final class RemoteReader(part: RemotePart) extends PartitionReader[ColumnarBatch] {
  private val process =
    try TaskProcess.take(part.program)
    catch { case e: SparkException => throw failure(s"reading failed: ${e.getMessage}", e) }
  private val allocator = RemoteReader.memory.newChildAllocator(part.toString, 0, Long.MaxValue)
  private val stream = new BatchStream(process, allocator)
  private var isComplete = false

  process.send(part.reader, part.task)

  override def next(): Boolean = !isComplete && {
    val hasBatch =
      try stream.loadNextBatch()
      catch { case e: java.io.IOException => throw failure(process.end(), e) }
    if (!hasBatch) complete()
    hasBatch
  }

  override def get(): ColumnarBatch = {
    val root = stream.getVectorSchemaRoot
    val columns = root.getFieldVectors.asScala.map(FlatColumn.of)
    new ColumnarBatch(columns.toArray, root.getRowCount)
  }

  /** The end of the stream proves nothing: a process that was killed ends it too. */
  private def complete(): Unit = {
    val problem =
      try process.readText()
      catch { case e: EOFException => throw failure(process.end(), e) }
    if (problem.nonEmpty) throw failure(problem, null)
    isComplete = true
  }

  private def failure(text: String, cause: Throwable): SparkException =
    new SparkException(if (text.startsWith(part.where)) text else s"${part.where}: $text", cause)

  override def close(): Unit = {
    stream.close(false)
    allocator.close()
    if (isComplete) process.release() else process.kill()
  }
}

private object RemoteReader {
  lazy val memory: BufferAllocator = new RootAllocator(Long.MaxValue)
}
