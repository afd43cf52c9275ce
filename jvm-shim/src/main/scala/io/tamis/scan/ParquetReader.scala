package io.tamis.scan

import io.tamis.listing.Snapshots
import io.tamis.planning.{Decision, FileSelection}

import org.apache.spark.sql.connector.read.{
  InputPartition,
  PartitionReaderFactory,
  Scan,
  Statistics
}
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan
import org.apache.spark.sql.types.StructType

/** Spark's own vectorized Parquet reader. */
object ParquetReader extends FilesReader {
  override val wholeFiles: Boolean = false

  /** Pushes down the conjuncts that Spark still applies and the ranges that they imply, which also
    * skip row groups and pages inside the surviving files.
    */
  override def scan(
      table: TamisTable,
      decision: Decision,
      kept: FileSelection,
      columns: StructType
  ): FilesScan = {
    val files = new FixedFileIndex(table, kept)
    val builder = new NativeScanBuilder(table, files)
    builder.pruneColumns(columns)
    builder.pushFilters(decision.residual ++ decision.implied)
    new ParquetFilesScan(table, files, builder.build())
  }

  override def statistics(kept: FileSelection, columns: StructType): Option[Statistics] = None
}

/** Spark's scan over its own partitions, or over some row groups of its files. */
private[scan] final class ParquetFilesScan(
    table: TamisTable,
    files: FixedFileIndex,
    val native: ParquetScan
) extends FilesScan {
  override def readSchema: StructType = native.readSchema()
  override def columnarSupportMode: Scan.ColumnarSupportMode = native.columnarSupportMode()
  override lazy val readers: PartitionReaderFactory = new ReadersWhenRun(native)

  override def partitions: Array[InputPartition] =
    // Spark's own partitions change the scale of such values, also in the listing that it caches
    if (!files.kept.ranges.isEmpty || Snapshots.holdsOtherScales(files.kept.listing))
      RangePartitions.of(table.session, native, files.kept).toArray
    else native.toBatch.planInputPartitions()

  override def metadata: Map[String, String] = native.getMetaData().filter { case (key, _) =>
    Set("ReadSchema", "PushedFilters", "Format")(key)
  }

  override def equals(other: Any): Boolean = other match {
    case scan: ParquetFilesScan => native == scan.native
    case _                      => false
  }
  override def hashCode(): Int = native.hashCode()
}
