package io.tamis.source

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection}
import org.apache.spark.sql.execution.PartitionedFileUtil
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan

/** The partitions of a scan that reads some files in part.
  *
  * FileScan.partitions of Spark, step by step, but for the ranges: what a task may read follows
  * from the bytes that are read, files that are read whole are split as ever, ranges are not cut,
  * and PartitionedFiles are packed into tasks as ever (`spark.sql.files.maxPartitionBytes`,
  * `openCostInBytes`, `minPartitionNum`). What it uses has one signature on 4.0 to 4.3.
  */
object RangePartitions {

  def of(session: SparkSession, scan: ParquetScan, kept: Kept): Seq[FilePartition] = {
    val openCost = session.sessionState.conf.filesOpenCostInBytes
    val maxBytes =
      FilePartition.maxSplitBytes(session, kept.bytes + openCost * kept.count)
    val valuesOf = partitionValues(session, scan, kept.listing)
    val splits = Seq.newBuilder[PartitionedFile]
    var group = -1
    var values: InternalRow = InternalRow.empty
    var ofGroup = Seq.newBuilder[PartitionedFile]
    def flush(): Unit = {
      splits ++= ofGroup.result().sortBy(_.length)(Ordering[Long].reverse)
      ofGroup = Seq.newBuilder[PartitionedFile]
    }
    kept.foreach { i =>
      if (kept.listing.groupOf(i) != group) {
        flush()
        group = kept.listing.groupOf(i)
        values = valuesOf(kept.listing.groups(group).values)
      }
      val file = kept.listing.files(i)
      val path = file.getPath
      kept.ranges.of(i, maxBytes) match {
        case None =>
          ofGroup ++=
            PartitionedFileUtil.splitFiles(file, path, scan.isSplitable(path), maxBytes, values)
        case Some(ranges) =>
          ranges.foreach { case (start, length) =>
            ofGroup += PartitionedFileUtil.getPartitionedFile(file, path, values, start, length)
          }
      }
    }
    flush()
    FilePartition.getFilePartitions(session, splits.result(), maxBytes)
  }

  /** The values of the partition columns that the scan reads, in its order. */
  private def partitionValues(
      session: SparkSession,
      scan: ParquetScan,
      listing: Listing
  ): InternalRow => InternalRow = {
    val schema = listing.partitionSchema
    val sameName = session.sessionState.conf.resolver
    val wanted = scan.readPartitionSchema.fields.map(f =>
      schema.fields.indexWhere(p => sameName(p.name, f.name))
    )
    require(!wanted.contains(-1), s"partition columns of $schema in ${scan.readPartitionSchema}")
    if (wanted.sameElements(schema.indices)) identity
    else {
      val project = UnsafeProjection.create(
        wanted.toSeq.map(i => BoundReference(i, schema(i).dataType, nullable = true))
      )
      row => project(row).copy()
    }
  }
}
