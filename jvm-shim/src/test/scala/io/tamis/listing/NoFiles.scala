package io.tamis.listing

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}
import org.apache.spark.sql.types.StructType

/** A file index of no kind that tamis knows, without files. */
class NoFiles extends FileIndex {
  override def rootPaths: Seq[Path] = Nil
  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]
  ): Seq[PartitionDirectory] = Nil
  override def inputFiles: Array[String] = Array.empty
  override def refresh(): Unit = ()
  override def sizeInBytes: Long = 0
  override def partitionSchema: StructType = new StructType
}
