package io.tamis.wire

import java.nio.{ByteBuffer, ByteOrder}
import java.util.Base64

import com.fasterxml.jackson.databind.node.ObjectNode

/** How a scan finds what earlier queries have learnt about its files (tamis.wire.remembered).
  *
  * @param reading
  *   a digest of the settings under which files are read
  * @param keys
  *   of the conjuncts of the scan, in their order; None: the conjunct has no key
  */
final case class RememberedKeys(reading: String, keys: Seq[Option[String]])

/** Files without a row that passes these conjuncts together, and such rows of other files.
  *
  * @param files
  *   the files of the snapshot
  * @param rows
  *   the rows of other files
  * @param started
  *   milliseconds since 1970 before the first of them was read
  * @param passing
  *   files in which every row passes
  */
final case class LearntRequest(
    of: FilesIdentity,
    reading: String,
    keys: Seq[String],
    sql: Seq[String],
    files: ObjectNode,
    rows: RowsOfFiles,
    started: Long,
    passing: PassingFiles
) extends Request[Unit] {
  override private[wire] def fields: Seq[(String, Any)] =
    Json.fields(this).filterNot(_._1 == "of") ++ Json.fields(of)
  override def read(answer: String): Unit = Messages.acknowledged(answer, id)
}

/** Files in which each of these conjuncts is true for every row, and such rows of other files. */
final case class PassingFiles(
    keys: Seq[String],
    sql: Seq[String],
    files: ObjectNode,
    rows: RowsOfFiles
)

/** Half-open ranges of the rows of files, which are numbered from 0 in each file, in base64.
  *
  * @param files
  *   ordinals in the snapshot, int32
  * @param starts
  *   int64
  * @param stops
  *   int64
  */
final case class RowsOfFiles(files: String, starts: String, stops: String)

object RowsOfFiles {

  /** Of file, start and stop. */
  def of(ranges: Seq[(Int, Long, Long)]): RowsOfFiles = {
    val files = buffer(ranges.size * Integer.BYTES)
    ranges.foreach(r => files.putInt(r._1))
    def longs(of: ((Int, Long, Long)) => Long): String = {
      val out = buffer(ranges.size * java.lang.Long.BYTES)
      ranges.foreach(r => out.putLong(of(r)))
      text(out)
    }
    RowsOfFiles(text(files), longs(_._2), longs(_._3))
  }

  private def buffer(bytes: Int): ByteBuffer =
    ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN)
  private def text(buffer: ByteBuffer): String = Base64.getEncoder.encodeToString(buffer.array)
}

/** The files of a request, and the store of what is learnt about them.
  *
  * @param maxBytes
  *   the most bytes of the store
  */
final case class FilesIdentity(
    snapshot: SnapshotOfFiles,
    table: String,
    cacheDirectory: Option[String],
    maxBytes: Long
)

/** Requests what is stored, as `<id>.remembered.arrow` in this directory. */
final case class RememberedRequest(directory: String, cacheDirectory: Option[String])
    extends FileRequest
