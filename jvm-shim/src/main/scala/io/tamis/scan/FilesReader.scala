package io.tamis.scan

import io.tamis.planning.{Decision, FileSelection}

import org.apache.spark.sql.connector.read.{
  InputPartition,
  PartitionReaderFactory,
  Scan,
  Statistics
}
import org.apache.spark.sql.connector.read.partitioning.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.types.StructType

/** Reads the files of a table of tamis. */
trait FilesReader {

  /** Whether files are always read whole. */
  def wholeFiles: Boolean

  /** A scan of these columns.
    *
    * @param decision
    *   the decision of the scan. How files are read must depend on it alone
    * @param kept
    *   the files to read, which run-time filters may have made fewer
    */
  def scan(
      table: TamisTable,
      decision: Decision,
      kept: FileSelection,
      columns: StructType
  ): FilesScan

  /** What the format of the table would tell the optimizer about these files; None: what Spark
    * estimates from their sizes.
    */
  def statistics(kept: FileSelection, columns: StructType): Option[Statistics]
}

/** A scan of files. Two are equal if they read the same columns of the same rows. */
trait FilesScan {
  def readSchema: StructType
  def columnarSupportMode: Scan.ColumnarSupportMode
  def partitions: Array[InputPartition]
  def readers: PartitionReaderFactory

  /** For explanations. */
  def metadata: Map[String, String]

  /** How rows are distributed over the partitions. */
  def partitioning: Partitioning = new UnknownPartitioning(0)
}
