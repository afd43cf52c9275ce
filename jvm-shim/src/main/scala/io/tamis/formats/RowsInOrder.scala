package io.tamis.formats

import io.tamis.remote.ExecutorJar

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Ascending,
  BaseOrdering,
  BoundReference,
  Descending,
  RowOrdering,
  SortOrder
}
import org.apache.spark.sql.classic.{Dataset => ClassicDataset}
import org.apache.spark.sql.types._

/** Whether the rows of each file are sorted by some columns, as Spark's own comparison of rows
  * decides.
  *
  * A task reads a file, or a part of it, row after row. Each run of rows with consecutive numbers
  * in one file is compared pair by pair, and the driver compares the last row of a run with the
  * first one of the next run. An order is transitive, so that a file whose neighbours are in order
  * is sorted.
  */
object RowsInOrder {
  private val File = Seq("file", "size", "mtime")

  /** @param rows
    *   every row with the columns `file`, `size` and `mtime` of its file, its number `row_index` in
    *   the file, and `old<k>`: nothing is to be said of order k in this file
    * @param orders
    *   for each order, its columns, and whether the greatest value comes first
    * @return
    *   a row per file with the columns of `File`, the number `n` of rows, and `sorted<k>`, NULL if
    *   that is not known
    */
  def of(rows: Dataset[_], orders: Seq[Seq[(String, Boolean)]]): Dataset[Row] = {
    val session = rows.sparkSession
    ExecutorJar.ship(session.sparkContext)
    val schema = rows.schema
    val check = new RunsOfTask(
      File.map(schema.fieldIndex),
      schema.fieldIndex("row_index"),
      orders.indices.map(k => schema.fieldIndex(s"old$k")),
      orders.map(_.map { case (name, isDescending) => key(schema, name, isDescending) })
    )
    val plan = rows.asInstanceOf[ClassicDataset[_]].queryExecution
    val runs = plan.toRdd.mapPartitions(check(_)).collect()
    val files = runs.toSeq.groupBy(_.file).toSeq.map { case (file, ofFile) =>
      Row.fromSeq(file.values ++ check.joined(ofFile))
    }
    val kinds = File.map(name => schema(name)) :+ StructField("n", LongType)
    val flags = orders.indices.map(k => StructField(s"sorted$k", IntegerType))
    session.createDataFrame(files.asJava, StructType(kinds ++ flags))
  }

  private def key(schema: StructType, name: String, isDescending: Boolean): SortOrder = {
    val place = schema.fieldIndex(name)
    SortOrder(
      BoundReference(place, schema(place).dataType, nullable = true),
      if (isDescending) Descending else Ascending
    )
  }
}

/** The columns that identify a file, as Spark reads them. */
private[formats] final case class FileOfRow(name: String, size: Any, mtime: Any) {
  def values: Seq[Any] = Seq(name, size, mtime)
}

/** Consecutive rows of a file.
  *
  * @param first
  *   the number of the first row
  * @param count
  *   of rows
  * @param isSorted
  *   by order: whether no row is before its predecessor
  * @param isOld
  *   by order: whether nothing is to be said of it
  */
private[formats] final case class RunOfRows(
    file: FileOfRow,
    first: Long,
    count: Long,
    isSorted: Array[Boolean],
    isOld: Array[Boolean],
    firstRow: InternalRow,
    lastRow: InternalRow
)

/** Finds the runs of a task, and joins those of a file. */
private[formats] final class RunsOfTask(
    file: Seq[Int],
    rowIndex: Int,
    old: Seq[Int],
    orders: Seq[Seq[SortOrder]]
) extends Serializable {

  @transient private lazy val comparisons: Array[BaseOrdering] =
    orders.map(order => RowOrdering.create(order, Nil)).toArray

  def apply(rows: Iterator[InternalRow]): Iterator[RunOfRows] = {
    val input = rows.buffered
    new Iterator[RunOfRows] {
      override def hasNext: Boolean = input.hasNext
      override def next(): RunOfRows = run(input)
    }
  }

  private def run(rows: collection.BufferedIterator[InternalRow]): RunOfRows = {
    val firstRow = rows.next().copy()
    val ofFile = FileOfRow(
      firstRow.getUTF8String(file.head).toString,
      if (firstRow.isNullAt(file(1))) null else firstRow.getLong(file(1)),
      if (firstRow.isNullAt(file(2))) null else firstRow.getLong(file(2))
    )
    val (name, start) = (firstRow.getUTF8String(file.head), firstRow.getLong(rowIndex))
    val isSorted = Array.fill(orders.size)(true)
    val isOld = old.map(firstRow.getBoolean).toArray
    var (last, count) = (firstRow, 1L)
    while (
      rows.hasNext && rows.head.getLong(rowIndex) == start + count &&
      rows.head.getUTF8String(file.head) == name
    ) {
      val row = rows.next()
      compare(last, row, isSorted)
      old.indices.foreach(k => isOld(k) |= row.getBoolean(old(k)))
      last = row.copy()
      count += 1
    }
    RunOfRows(ofFile, start, count, isSorted, isOld, firstRow, last)
  }

  /** Clears the flag of each order by which the first row comes after the second. */
  private def compare(first: InternalRow, second: InternalRow, isSorted: Array[Boolean]): Unit =
    comparisons.indices.foreach { k =>
      if (isSorted(k) && comparisons(k).compare(first, second) > 0) isSorted(k) = false
    }

  /** The number of rows of a file, and for each order 1 if they are sorted, 0 if not, null if that
    * is not known.
    *
    * @param runs
    *   those of one file, in any order
    */
  def joined(runs: Seq[RunOfRows]): Seq[Any] = {
    val inPlace = runs.sortBy(_.first)
    // a run that is missing or was read twice: nothing is known of the rows between two runs
    val isWhole = inPlace.head.first == 0 && inPlace.zip(inPlace.tail).forall { case (a, b) =>
      a.first + a.count == b.first
    }
    val isSorted = orders.indices.map(k => runs.forall(_.isSorted(k))).toArray
    inPlace.zip(inPlace.tail).foreach { case (a, b) => compare(a.lastRow, b.firstRow, isSorted) }
    runs.map(_.count).sum +: orders.indices.map { k =>
      if (!isWhole || runs.exists(_.isOld(k))) null else if (isSorted(k)) 1 else 0
    }
  }
}
