package io.tamis.wire

import com.fasterxml.jackson.databind.node.ObjectNode

/** How a scan finds what earlier queries have learnt about its files (tamis.wire.remembered).
  *
  * @param reading
  *   a digest of the settings under which files are read
  * @param keys
  *   of the conjuncts of the scan, in their order; None: the conjunct has no key
  */
final case class RememberedKeys(reading: String, keys: Seq[Option[String]])

/** Files in which no row passes these conjuncts together.
  *
  * @param files
  *   the files of the snapshot
  * @param started
  *   milliseconds since 1970 before the first of them was read
  */
final case class LearntRequest(
    of: FilesIdentity,
    reading: String,
    keys: Seq[String],
    sql: Seq[String],
    files: ObjectNode,
    started: Long
) extends Request[Unit] {
  override private[wire] def fields: Seq[(String, Any)] =
    Json.fields(this).filterNot(_._1 == "of") ++ Json.fields(of)
  override def read(answer: String): Unit = Messages.acknowledged(answer, id)
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
