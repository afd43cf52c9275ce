package io.tamis.listing

import io.tamis.wire.FormatSnapshot
import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{
  PartitionDirectory,
  PartitionSpec,
  PartitioningAwareFileIndex
}

/** The files of a snapshot of a table format, which that format has listed. They never change.
  *
  * @param roots
  *   the directory of the table
  * @param snapshot
  *   where the format records the statistics of the files
  * @param ofWhole
  *   lists all files of the snapshot, if some were left out here because no row of them passes the
  *   filters of the query; None of it: they cannot be listed
  */
final class RecordedFileIndex(
    session: SparkSession,
    roots: Seq[Path],
    val listing: Listing,
    val snapshot: FormatSnapshot,
    val ofWhole: Option[() => Option[RecordedFileIndex]] = None
) extends PartitioningAwareFileIndex(session, Map.empty, None) {

  override def rootPaths: Seq[Path] = roots
  override def partitionSpec(): PartitionSpec = PartitionSpec(listing.partitionSchema, Nil)
  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]
  ): Seq[PartitionDirectory] = listing.directories
  override def allFiles(): Seq[FileStatus] = listing.files.map(_.fileStatus)
  override def inputFiles: Array[String] = Array.tabulate(listing.size)(listing.files.uri)
  override def sizeInBytes: Long = listing.totalBytes
  override def refresh(): Unit = ()

  override protected def leafFiles: mutable.LinkedHashMap[Path, FileStatus] =
    mutable.LinkedHashMap.from(allFiles().map(f => f.getPath -> f))
  override protected def leafDirToChildrenFiles: Map[Path, Array[FileStatus]] =
    allFiles().toArray.groupBy(_.getPath.getParent)

  override def equals(other: Any): Boolean = other match {
    case index: RecordedFileIndex =>
      (this eq index) ||
      snapshot == index.snapshot && listing.fingerprint == index.listing.fingerprint
    case _ => false
  }
  override def hashCode(): Int = snapshot.hashCode()
  override def toString: String = s"RecordedFileIndex(${listing.size} files)"
}
