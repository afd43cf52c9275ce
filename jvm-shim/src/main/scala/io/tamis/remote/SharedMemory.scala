package io.tamis.remote

import java.io.IOException
import java.nio.{ByteOrder, MappedByteBuffer}
import java.nio.channels.FileChannel
import java.nio.file.{Path, StandardOpenOption}

import scala.util.Try

import org.apache.arrow.flatbuf.Message
import org.apache.arrow.memory.{BufferAllocator, ForeignAllocation}
import org.apache.arrow.memory.util.MemoryUtil
import org.apache.arrow.vector.ipc.message.{ArrowRecordBatch, MessageSerializer}

/** Memory into which a Python process writes batches. It is unmapped when the garbage collector
  * finds it unused: Spark may read a row while it closes the reader.
  */
private[remote] final class SharedMemory(memory: MappedByteBuffer) {
  memory.order(ByteOrder.LITTLE_ENDIAN)

  /** Returns the batch whose IPC message is at this place, without a copy.
    *
    * @param release
    *   called when the memory of the batch is released
    */
  def batch(place: Int, allocator: BufferAllocator)(release: () => Unit): ArrowRecordBatch = {
    // FF FF FF FF, the length of the metadata, the metadata, the body
    val length = memory.getInt(place + 4)
    val message = Message.getRootAsMessage(memory.slice(place + 8, length))
    val start = place + 8 + length
    if (message.bodyLength > memory.capacity - start)
      throw new IOException("a batch ends outside of the shared memory")
    val address = MemoryUtil.getByteBufferAddress(memory) + start
    val body = new ForeignAllocation(message.bodyLength, address) {
      override protected def release0(): Unit = release()
    }
    MessageSerializer.deserializeRecordBatch(message, allocator.wrapForeignAllocation(body))
  }
}

private[remote] object SharedMemory {

  /** None if this process cannot map the file. */
  def map(path: Path): Option[SharedMemory] = Try {
    val file = FileChannel.open(path, StandardOpenOption.READ)
    try new SharedMemory(file.map(FileChannel.MapMode.READ_ONLY, 0, file.size))
    finally file.close()
  }.toOption
}
