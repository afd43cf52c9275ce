package io.tamis.scan

import io.tamis.listing.{QuotedName, Snapshots}
import io.tamis.planning.{Decision, FileOrder, FileSelection, SortedColumn}

import org.apache.spark.sql.connector.expressions.{Expressions, SortDirection, SortOrder}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.connector.read.{InputPartition, Scan}
import org.apache.spark.sql.connector.read.partitioning.Partitioning
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan
import org.apache.spark.sql.types.StructType

/** Spark's own vectorized Parquet reader. */
object ParquetReader extends FilesReader {
  override val wholeFiles: Boolean = false

  override def scan(table: TamisTable, decision: Decision, columns: StructType): FilesScan =
    new ParquetFilesScan(table, decision, columns, decision.kept, OfSpark)

  private object OfSpark extends ParquetReaders {
    override val splitsFiles: Boolean = true
    override def of(scan: ParquetScan): ReadersWhenRun = ReadersWhenRun(scan)
  }
}

/** Makes what reads the partitions of Spark's scan. */
trait ParquetReaders {

  /** Whether several tasks may share a file. */
  def splitsFiles: Boolean

  /** Readers of the columns of the scan, in its order. */
  def of(scan: ParquetScan): ReadersWhenRun
}

/** Spark's scan over its own partitions, or over some row groups of its files.
  *
  * @param by
  *   a function of the table alone: two scans of equal tables have the same readers
  */
private[tamis] final class ParquetFilesScan(
    table: TamisTable,
    decision: Decision,
    columns: StructType,
    kept: FileSelection,
    by: ParquetReaders
) extends FilesScan {

  /** Pushes down the conjuncts that Spark still applies and the ranges that they imply, which also
    * skip row groups and pages inside the surviving files.
    */
  private val native: ParquetScan = {
    val builder = new NativeScanBuilder(table, new FixedFileIndex(table, kept))
    builder.pruneColumns(columns)
    builder.pushFilters(decision.residual ++ decision.implied)
    builder.build()
  }

  override def readSchema: StructType = native.readSchema()

  /** Spark would otherwise plan partitions to find out. */
  override def columnarSupportMode: Scan.ColumnarSupportMode =
    if (readers.columnar) Scan.ColumnarSupportMode.SUPPORTED
    else Scan.ColumnarSupportMode.UNSUPPORTED
  override lazy val readers: ReadersWhenRun = by.of(native)

  private lazy val groups: Option[PartitionGroups] =
    PartitionGroups.of(decision.kept, table.purpose.groupedBy).filter(_ => isGroupable)

  /** Whether the columns by which rows are grouped are read. */
  private def isGroupable: Boolean = {
    val read = native.readPartitionSchema.fieldNames.toSet
    table.purpose.groupedBy.forall(read)
  }

  override def partitioning: Partitioning = groups.fold(super.partitioning)(_.partitioning)

  /** The order of the rows of each group; None if it is not known of all kept files. */
  private lazy val order: Option[FileOrder] =
    table.purpose.sortedBy.filter(o => groups.isDefined && o.covers(decision.kept))

  /** The columns of the order that are read, up to the first one that is not. */
  private lazy val sorted: Seq[SortedColumn] = {
    val read = readSchema.fieldNames.toSet
    order.toSeq.flatMap(_.columns.takeWhile(c => read(c.name)))
  }

  override def ordering: Seq[SortOrder] = sorted.map { column =>
    val direction = if (column.isDescending) SortDirection.DESCENDING else SortDirection.ASCENDING
    Expressions.sort(Expressions.column(QuotedName(column.name)), direction)
  }

  /** Planned once, because Spark asks every copy of the scan's node for them. */
  override lazy val partitions: Array[InputPartition] = groups match {
    case Some(groups) =>
      groups.orEmpty(RangePartitions.grouped(table.session, native, kept, groups, order))
    case None => ungrouped
  }

  private def ungrouped: Array[InputPartition] =
    // Spark's own partitions change the scale of such values, also in the listing that it caches
    if (!kept.ranges.isEmpty || !by.splitsFiles || Snapshots.holdsOtherScales(kept.listing))
      RangePartitions.of(table.session, native, kept, by.splitsFiles).toArray
    else native.toBatch.planInputPartitions()

  override def filtered(left: FileSelection, predicates: Seq[V2Predicate]): FilesScan =
    if (left == kept) this
    else new ParquetFilesScan(table, decision, columns, left, by)

  override def metadata: Map[String, String] = native.getMetaData().filter { case (key, _) =>
    Set("ReadSchema", "PushedFilters", "Format")(key)
  } ++ groups.map(g =>
    "GroupedBy" -> s"${table.purpose.groupedBy.mkString("[", ", ", "]")}, ${g.keys.size} groups"
  ) ++ Option.when(sorted.nonEmpty)("SortedBy" -> sorted.map(_.text).mkString("[", ", ", "]"))

  override def equals(other: Any): Boolean = other match {
    case scan: ParquetFilesScan => native == scan.ofSpark
    case _                      => false
  }
  private def ofSpark: ParquetScan = native
  override def hashCode(): Int = native.hashCode()
}
