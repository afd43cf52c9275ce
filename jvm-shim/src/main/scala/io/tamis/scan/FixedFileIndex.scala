package io.tamis.scan

import io.tamis.listing.{Listing, RecordedFileIndex}
import io.tamis.planning.{FileSelection, PlannedFiles}
import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{
  PartitionDirectory,
  PartitionSpec,
  PartitioningAwareFileIndex
}

/** A file index that serves the surviving files of a listing and never lists anything.
  *
  * It serves whole files: callers that plan tasks from it must read `kept.ranges` as well
  * (TamisBatch does).
  */
class FixedFileIndex(table: PlannedFiles, val kept: FileSelection)
    extends PartitioningAwareFileIndex(table.session, Map.empty, None) {

  override def rootPaths: Seq[Path] = table.relation.location.rootPaths
  override def partitionSpec(): PartitionSpec = PartitionSpec(table.relation.partitionSchema, Nil)

  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]
  ): Seq[PartitionDirectory] =
    kept.directories

  override def allFiles(): Seq[FileStatus] = kept.files.map(_.fileStatus)
  override def inputFiles: Array[String] = kept.files.map(Listing.uriOf).toArray
  override def sizeInBytes: Long = kept.bytes
  override def refresh(): Unit = ()

  override protected def leafFiles: mutable.LinkedHashMap[Path, FileStatus] =
    mutable.LinkedHashMap.from(allFiles().map(f => f.getPath -> f))
  override protected def leafDirToChildrenFiles: Map[Path, Array[FileStatus]] =
    allFiles().toArray.groupBy(_.getPath.getParent)

  override def equals(other: Any): Boolean = other match {
    case index: FixedFileIndex =>
      rootPaths.toSet == index.rootPaths.toSet && kept == index.kept && recorded == index.recorded
    case _ => false
  }

  /** Other versions of a table have the same files with other deleted rows, or other columns. */
  private def recorded: Option[RecordedFileIndex] =
    Some(table.relation.location).collect { case index: RecordedFileIndex => index }

  override def hashCode(): Int = rootPaths.toSet.hashCode()
  override def toString: String = s"FixedFileIndex(${kept.count} of ${kept.listing.size} files)"
}
