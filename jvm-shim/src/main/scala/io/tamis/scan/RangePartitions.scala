package io.tamis.scan

import io.tamis.listing.Listing
import io.tamis.planning.{FileOrder, FileSelection}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.connector.read.HasPartitionKey
import org.apache.spark.sql.execution.PartitionedFileUtil
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan

/** Plans the partitions of a scan that reads some files in part, or that groups rows.
  *
  * It follows Spark's FileScan.partitions step by step, except for the ranges and the groups. The
  * size limit of a task follows from the bytes that are read, files that are read whole are split
  * as in Spark, ranges are not cut, and PartitionedFiles are packed into tasks as in Spark
  * (`spark.sql.files.maxPartitionBytes`, `openCostInBytes`, `minPartitionNum`). The methods that it
  * calls have the same signatures on 4.0 to 4.3.
  */
object RangePartitions {

  /** @param splitsFiles
    *   whether several tasks may share a file
    */
  def of(
      session: SparkSession,
      scan: ParquetScan,
      kept: FileSelection,
      splitsFiles: Boolean
  ): Seq[FilePartition] = {
    val maxBytes = maxSplitBytes(session, kept)
    val splits = splitsOf(session, scan, kept, maxBytes, splitsFiles).flatMap(_._2).map(_.part)
    FilePartition.getFilePartitions(session, splits, maxBytes)
  }

  /** A part of a file that is read, or all of it.
    *
    * @param file
    *   the ordinal of the file in the listing
    */
  private final case class Split(file: Int, part: PartitionedFile)

  /** The same, where each partition has only rows with the same values of these columns.
    *
    * @param order
    *   the order that the rows of each group have if its files are read in their places
    */
  def grouped(
      session: SparkSession,
      scan: ParquetScan,
      kept: FileSelection,
      groups: PartitionGroups,
      order: Option[FileOrder]
  ): Seq[FilePartition with HasPartitionKey] = {
    val maxBytes = maxSplitBytes(session, kept)
    // the row groups of a file may be stored in another order than that of its rows
    val splits = splitsOf(session, scan, kept, maxBytes, splitsFiles = order.isEmpty)
    val byGroup = splits.groupMap(s => groups.ofDirectory(s._1))(_._2)
    val keyed = byGroup.toSeq.sortBy(_._1).flatMap { case (group, splits) =>
      val parts = order match {
        // All in one partition: Spark would read several partitions of a group in one task too, and
        // does not count on an order among them. Parts are row groups in the order of their rows,
        // and a part that is left out leaves the others in order.
        case Some(order) =>
          val inPlace =
            splits.flatten.sortBy(s => (order.places.getOrElse(s.file, 0), s.part.start))
          Seq(inPlace.map(_.part).toArray)
        case None =>
          FilePartition
            .getFilePartitions(session, splits.flatten.map(_.part), maxBytes)
            .map(_.files)
      }
      parts.map(_ -> group)
    }
    keyed.zipWithIndex.map { case ((files, group), i) =>
      new KeyedFilePartition(i, files, groups.keys(group))
    }
  }

  private def maxSplitBytes(session: SparkSession, kept: FileSelection): Long = {
    val openCost = session.sessionState.conf.filesOpenCostInBytes
    FilePartition.maxSplitBytes(session, kept.bytes + openCost * kept.count)
  }

  /** By directory of the listing, in its order: the parts of the files that are read. */
  private def splitsOf(
      session: SparkSession,
      scan: ParquetScan,
      kept: FileSelection,
      maxBytes: Long,
      splitsFiles: Boolean
  ): Seq[(Int, Seq[Split])] = {
    val valuesOf = partitionValues(session, scan, kept.listing)
    val splits = Seq.newBuilder[(Int, Seq[Split])]
    var group = -1
    var values: InternalRow = InternalRow.empty
    // with the bytes by which Spark would sort: those of a split, not of the ranges that are kept
    var ofGroup = Seq.newBuilder[(Long, Split)]
    def flush(): Unit = {
      splits += group -> ofGroup.result().sortBy(_._1)(Ordering[Long].reverse).map(_._2)
      ofGroup = Seq.newBuilder[(Long, Split)]
    }
    kept.foreach { i =>
      if (kept.listing.groupOf(i) != group) {
        if (group >= 0) flush()
        group = kept.listing.groupOf(i)
        values = valuesOf(kept.listing.groups(group).values)
      }
      val file = kept.listing.files(i)
      val path = file.getPath
      kept.ranges.of(i, maxBytes) match {
        case None =>
          ofGroup ++= PartitionedFileUtil
            .splitFiles(file, path, splitsFiles && scan.isSplitable(path), maxBytes, values)
            .map(part => part.length -> Split(i, part))
        case Some(ranges) =>
          ranges.foreach { case (start, length) =>
            val part = PartitionedFileUtil.getPartitionedFile(file, path, values, start, length)
            ofGroup += math.min(file.getLen, maxBytes) -> Split(i, part)
          }
      }
    }
    if (group >= 0) flush()
    splits.result()
  }

  /** Maps partition values to those of the columns that the scan reads, in its order. */
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
    require(
      !wanted.contains(-1),
      s"not all of ${scan.readPartitionSchema} are partition columns of $schema"
    )
    if (wanted.sameElements(schema.indices)) identity
    // not a projection of Spark's, which changes the scale of decimals in the row that it reads
    else row => new GenericInternalRow(wanted.map(i => row.get(i, schema(i).dataType)))
  }
}
