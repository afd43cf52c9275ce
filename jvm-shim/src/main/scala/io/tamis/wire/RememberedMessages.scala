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
  * @param values
  *   of the rows of other files that pass
  */
final case class LearntRequest(
    of: FilesIdentity,
    reading: String,
    keys: Seq[String],
    sql: Seq[String],
    files: ObjectNode,
    rows: RowsOfFiles,
    started: Long,
    passing: PassingFiles,
    values: Option[ValuesOfFiles]
) extends Request[Boolean] {
  override private[wire] def fields: Seq[(String, Any)] =
    Json.fields(this).filterNot(_._1 == "of") ++ Json.fields(of)

  /** Whether more is known than before. */
  override def read(answer: String): Boolean =
    Messages.document(answer, id).path("changed").asBoolean
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

/** The least and the greatest value of columns in the rows of files that pass, in base64.
  *
  * @param columns
  *   their documents
  * @param files
  *   ordinals in the snapshot, int32
  * @param least
  *   for each file, the value of each column, int64
  * @param greatest
  *   the same
  */
final case class ValuesOfFiles(
    columns: Seq[ObjectNode],
    files: String,
    least: String,
    greatest: String
)

object ValuesOfFiles {

  /** Of file, least and greatest values. */
  def of(
      columns: Seq[ObjectNode],
      values: Seq[(Int, Array[Long], Array[Long])]
  ): ValuesOfFiles = ValuesOfFiles(
    columns,
    Base64Numbers.ints(values.map(_._1)),
    Base64Numbers.longs(values.flatMap(_._2)),
    Base64Numbers.longs(values.flatMap(_._3))
  )
}

/** Numbers in base64, little-endian. */
private object Base64Numbers {
  def ints(values: Seq[Int]): String = {
    val out = buffer(values.size * Integer.BYTES)
    values.foreach(out.putInt(_))
    text(out)
  }
  def longs(values: Seq[Long]): String = {
    val out = buffer(values.size * java.lang.Long.BYTES)
    values.foreach(out.putLong(_))
    text(out)
  }

  private def buffer(bytes: Int): ByteBuffer =
    ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN)
  private def text(buffer: ByteBuffer): String = Base64.getEncoder.encodeToString(buffer.array)
}

object RowsOfFiles {

  /** Of file, start and stop. */
  def of(ranges: Seq[(Int, Long, Long)]): RowsOfFiles = RowsOfFiles(
    Base64Numbers.ints(ranges.map(_._1)),
    Base64Numbers.longs(ranges.map(_._2)),
    Base64Numbers.longs(ranges.map(_._3))
  )
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
