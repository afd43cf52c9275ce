package io.tamis.listing

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata

/** The files of a listing, in order. */
sealed trait ListedFiles extends IndexedSeq[FileStatusWithMetadata] {

  /** The URL-encoded URI of a file. */
  def uri(i: Int): String

  /** The size of a file in bytes. */
  def bytes(i: Int): Long

  /** When a file was changed, in milliseconds since 1970. */
  def modified(i: Int): Long
}

/** Files that Spark listed. */
private[listing] final class FilesOfSpark(files: Array[FileStatusWithMetadata])
    extends ListedFiles {
  override def length: Int = files.length
  override def apply(i: Int): FileStatusWithMetadata = files(i)
  override def uri(i: Int): String = Listing.uriOf(files(i))
  override def bytes(i: Int): Long = files(i).getLen
  override def modified(i: Int): Long = files(i).getModificationTime
}

/** Files that a table format recorded, and that never change. Only those that are used become
  * objects of Hadoop, which cost more than all else in planning.
  */
private[listing] final class RecordedFiles(
    uris: Array[String],
    sizes: Array[Long],
    time: Long
) extends ListedFiles {
  override def length: Int = uris.length
  override def apply(i: Int): FileStatusWithMetadata = FileStatusWithMetadata(
    new FileStatus(sizes(i), false, 0, 1, time, new Path(java.net.URI.create(uris(i))))
  )
  override def uri(i: Int): String = uris(i)
  override def bytes(i: Int): Long = sizes(i)
  override def modified(i: Int): Long = time
}

private[listing] object ListedFiles {
  val none: ListedFiles = new FilesOfSpark(Array.empty)
}
