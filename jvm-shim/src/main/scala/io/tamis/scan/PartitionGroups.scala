package io.tamis.scan

import io.tamis.listing.{GroupNumbers, QuotedName}
import io.tamis.planning.FileSelection
import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.connector.expressions.Expressions
import org.apache.spark.sql.connector.read.{HasPartitionKey, InputPartition}
import org.apache.spark.sql.connector.read.partitioning.{KeyGroupedPartitioning, Partitioning}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

/** The groups of rows of a scan that have the same values of some partition columns.
  *
  * @param columns
  *   names of partition columns whose values are equal to Spark exactly if they are equal in Scala
  * @param ofDirectory
  *   the number of the group of each directory of the listing that has a kept file
  * @param values
  *   by that number, the values of the columns
  */
final class PartitionGroups private (
    columns: Seq[String],
    val ofDirectory: Map[Int, Int],
    val values: IndexedSeq[Seq[Any]]
) {
  val keys: IndexedSeq[InternalRow] = values.map(v => new GenericInternalRow(v.toArray))

  /** Each partition has the rows of one key. A key may have several partitions, which Spark then
    * reads in one task.
    */
  def partitioning: Partitioning =
    new KeyGroupedPartitioning(
      columns.map(name => Expressions.identity(QuotedName(name))).toArray,
      keys.size
    )

  /** The partitions, or one without a file if run-time filters leave none: its key is one of those
    * that were reported, as Spark requires of what is left.
    */
  def orEmpty(partitions: Seq[InputPartition]): Array[InputPartition] =
    if (partitions.nonEmpty) partitions.toArray
    else Array(new KeyedFilePartition(0, Array.empty, keys.head))
}

object PartitionGroups {

  /** None without a column or a kept file. */
  def of(kept: FileSelection, columns: Seq[String]): Option[PartitionGroups] =
    Option.when(columns.nonEmpty && kept.count > 0) {
      val listing = kept.listing
      val directories = mutable.LinkedHashSet.empty[Int]
      kept.foreach(i => directories += listing.groupOf(i))
      val ordinals = columns.map(listing.partitionSchema.fieldIndex)
      val numbers = GroupNumbers.of(listing, ordinals, directories.toSeq)
      new PartitionGroups(
        columns,
        directories.toSeq.zip(numbers.ofDirectories).toMap,
        numbers.values
      )
    }
}

/** A partition of Spark's for file scans whose rows have the same values of some columns. */
final class KeyedFilePartition(index: Int, files: Array[PartitionedFile], key: InternalRow)
    extends FilePartition(index, files)
    with HasPartitionKey {
  override def partitionKey(): InternalRow = key
}
