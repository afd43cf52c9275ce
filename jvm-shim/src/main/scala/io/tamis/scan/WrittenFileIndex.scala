package io.tamis.scan

import io.tamis.planning.{FileSelection, PlannedFiles}
import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{
  PartitionDirectory,
  PartitionSpec,
  PartitioningAwareFileIndex
}

/** The files that a table format lists, for a build of their index. A filter on
  * `_metadata.file_path` chooses among them, as it does over Spark's own file indexes.
  */
final class WrittenFileIndex(table: PlannedFiles, files: FileSelection)
    extends FixedFileIndex(table, files) {

  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]
  ): Seq[PartitionDirectory] = files.directories.flatMap { directory =>
    new Unpartitioned(directory)
      .listFiles(Nil, dataFilters)
      .map(chosen => PartitionDirectory(directory.values, chosen.files))
  }

  /** Files with the same partition values, among which Spark chooses. */
  private final class Unpartitioned(directory: PartitionDirectory)
      extends PartitioningAwareFileIndex(table.session, Map.empty, None) {
    override def rootPaths: Seq[Path] = table.relation.location.rootPaths
    override def partitionSpec(): PartitionSpec = PartitionSpec.emptySpec
    override def refresh(): Unit = ()
    override def allFiles(): Seq[FileStatus] = directory.files.map(_.fileStatus)
    override protected def leafFiles: mutable.LinkedHashMap[Path, FileStatus] =
      mutable.LinkedHashMap.from(allFiles().map(f => f.getPath -> f))
    override protected def leafDirToChildrenFiles: Map[Path, Array[FileStatus]] =
      allFiles().toArray.groupBy(_.getPath.getParent)
  }
}
