package io.tamis.scan

import io.tamis.planning.{Decision, FileSelection}

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.expressions.{NamedReference, SortOrder}
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
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

  /** A scan of these columns of the files that a decision keeps. */
  def scan(table: TamisTable, decision: Decision, columns: StructType): FilesScan

  /** A scan that answers an aggregation over the rows that pass these filters without reading a
    * file; None: there is none.
    */
  def aggregated(filters: Seq[Expression], aggregation: Aggregation): Option[Scan] = None
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

  /** The order of the rows of each partition. */
  def ordering: Seq[SortOrder] = Nil

  /** What the format of the table tells the optimizer; None: what Spark estimates from the sizes of
    * the files.
    */
  def statistics: Option[Statistics] = None

  /** Columns by whose values the format of the table can leave out files at run time. */
  def filterAttributes: Seq[NamedReference] = Nil

  /** The same scan of the files that are left at run time, and of what passes these predicates. It
    * reads them in the same way: `readers` serve both.
    */
  def filtered(left: FileSelection, predicates: Seq[V2Predicate]): FilesScan

  /** The files that are read; None: all that the scan was made for. */
  def filesRead: Option[Int] = None
}
