package io.tamis.formats.delta

import java.io.Closeable

import org.apache.spark.sql.catalyst.{FileSourceOptions, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader}
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.v2.FilePartitionReaderFactory
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Returns the rows of files without those that Delta's format marks as deleted.
  *
  * @param read
  *   reads a file as rows or, if `columnar`, as batches of them
  * @param all
  *   the columns that it returns
  * @param mark
  *   the place of the column that is 0 for the rows that are left; None: all rows are left
  * @param columns
  *   the places of the columns that the scan returns
  */
private[delta] final class DeltaReaders(
    read: PartitionedFile => Iterator[Any],
    all: StructType,
    mark: Option[Int],
    columns: Seq[Int],
    columnar: Boolean,
    override protected val options: FileSourceOptions
) extends FilePartitionReaderFactory {

  override def supportColumnarReads(partition: InputPartition): Boolean = columnar

  override def buildReader(file: PartitionedFile): PartitionReader[InternalRow] = {
    val opened = read(file).asInstanceOf[Iterator[InternalRow]]
    val projected = UnsafeProjection.create(
      columns.map(i => BoundReference(i, all(i).dataType, nullable = true))
    )
    val rows = mark match {
      case Some(at) => opened.filter(_.getByte(at) == DeltaReaders.Left).map(projected)
      // the vectorized reader returns rows of its batches, which an exchange does not take
      case None =>
        opened.map {
          case row: UnsafeRow => row
          case row            => projected(row)
        }
    }
    new DeltaReaders.OfIterator(rows, opened)
  }

  override def buildColumnarReader(file: PartitionedFile): PartitionReader[ColumnarBatch] = {
    val opened = read(file).asInstanceOf[Iterator[ColumnarBatch]]
    val batches = mark.fold(opened)(at => opened.map(RowsLeft.of(_, at, columns)))
    new DeltaReaders.OfIterator(batches, opened)
  }
}

private object DeltaReaders {

  /** The mark of a row that is not deleted (RowIndexFilter.KEEP_ROW_VALUE in Delta 4.4.0). */
  val Left: Byte = 0

  /** @param opened
    *   closed with the reader; what Delta wraps is closed when its task ends
    */
  private final class OfIterator[A](values: Iterator[A], opened: Iterator[_])
      extends PartitionReader[A] {
    private var current: Option[A] = None

    override def next(): Boolean = {
      current = values.nextOption()
      current.isDefined
    }
    override def get(): A = current.get
    override def close(): Unit = opened match {
      case closeable: Closeable => closeable.close()
      case _                    => ()
    }
  }
}
