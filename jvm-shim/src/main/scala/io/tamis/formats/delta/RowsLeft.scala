package io.tamis.formats.delta

import org.apache.spark.sql.types.{Decimal, StructType}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarArray, ColumnarBatch, ColumnarMap}
import org.apache.spark.unsafe.types.UTF8String

/** Some rows of a column, without copying them.
  *
  * @param rows
  *   their numbers in the column, ascending
  */
private[delta] final class RowsLeft(column: ColumnVector, rows: Array[Int])
    extends ColumnVector(column.dataType) {

  /** Of a struct. Arrays and maps are read as a whole. */
  private lazy val fields: Array[ColumnVector] = new Array(RowsLeft.fieldsOf(column))

  override def isNullAt(row: Int): Boolean = column.isNullAt(rows(row))
  override def getBoolean(row: Int): Boolean = column.getBoolean(rows(row))
  override def getByte(row: Int): Byte = column.getByte(rows(row))
  override def getShort(row: Int): Short = column.getShort(rows(row))
  override def getInt(row: Int): Int = column.getInt(rows(row))
  override def getLong(row: Int): Long = column.getLong(rows(row))
  override def getFloat(row: Int): Float = column.getFloat(rows(row))
  override def getDouble(row: Int): Double = column.getDouble(rows(row))
  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal =
    column.getDecimal(rows(row), precision, scale)
  override def getUTF8String(row: Int): UTF8String = column.getUTF8String(rows(row))
  override def getBinary(row: Int): Array[Byte] = column.getBinary(rows(row))
  override def getArray(row: Int): ColumnarArray = column.getArray(rows(row))
  override def getMap(row: Int): ColumnarMap = column.getMap(rows(row))

  override def getChild(ordinal: Int): ColumnVector = {
    if (fields(ordinal) == null) fields(ordinal) = new RowsLeft(column.getChild(ordinal), rows)
    fields(ordinal)
  }

  override def hasNull: Boolean = column.hasNull
  override def numNulls: Int = if (hasNull) rows.count(column.isNullAt(_)) else 0
  override def close(): Unit = column.close()
  override def closeIfFreeable(): Unit = column.closeIfFreeable()
}

private[delta] object RowsLeft {

  /** These columns of the rows of a batch that are not marked as deleted. */
  def of(batch: ColumnarBatch, mark: Int, columns: Seq[Int]): ColumnarBatch = {
    val marks = batch.column(mark)
    val rows = Array.range(0, batch.numRows).filter(marks.getByte(_) == DeltaReaders.Left)
    marks.close() // Delta makes another one for each batch
    val all = columns.map(batch.column(_)).toArray
    if (rows.length == batch.numRows) new ColumnarBatch(all, batch.numRows)
    else new ColumnarBatch(all.map(new RowsLeft(_, rows): ColumnVector), rows.length)
  }

  /** The number of vectors below that of a column: interval and VARIANT have some, too. */
  private def fieldsOf(column: ColumnVector): Int = column.dataType match {
    case struct: StructType => struct.size
    case _                  => 3
  }
}
