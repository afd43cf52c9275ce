package io.tamis.remote

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.ipc.ArrowStreamReader

/** The batches of a task. A process sends each in a message of an IPC stream, or sends its place in
  * the shared memory (tamis.remote.program).
  */
private[remote] final class BatchStream(process: TaskProcess, allocator: BufferAllocator)
    extends ArrowStreamReader(process.incoming, allocator) {

  override def loadNextBatch(): Boolean = {
    prepareLoadNextBatch() // reads the schema
    val place = process.readNumber()
    if (place >= 0) {
      loadRecordBatch(process.sharedBatch(place, allocator))
      true
    } else super.loadNextBatch() // Arrow reads messages without the FF FF FF FF, too
  }
}
