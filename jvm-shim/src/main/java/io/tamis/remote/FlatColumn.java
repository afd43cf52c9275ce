package io.tamis.remote;

import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.SmallIntVector;
import org.apache.arrow.vector.TimeStampMicroTZVector;
import org.apache.arrow.vector.TimeStampMicroVector;
import org.apache.arrow.vector.TinyIntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column of numbers, dates, timestamps, strings or binary, read from the memory of an Arrow vector.
 *
 * <p>Spark's ArrowColumnVector checks the bounds of every access, and calls a virtual method for
 * every value. This class checks nothing: {@code tamis.remote.executor} has validated the offsets of
 * every batch, and Spark reads only rows of the batch. It reads the vector as it is when the column
 * is created, so a new batch needs a new column.
 */
final class FlatColumn extends ColumnVector {
  private final ArrowColumnVector vector;
  private final int nulls;
  private final long validity;
  private final long offsets;
  private final long values;

  /** Returns the column of a vector. */
  static ColumnVector of(FieldVector vector) {
    ArrowColumnVector column = new BatchColumn(vector);
    return isFlat(vector) ? new FlatColumn(column, vector) : column;
  }

  /**
   * A column of one batch. The reader of the stream owns the vector and loads the next batch into
   * it, but Spark closes the columns of a batch after its last row. A struct that is closed loses
   * its fields, so that no further batch could be loaded.
   */
  private static final class BatchColumn extends ArrowColumnVector {
    BatchColumn(FieldVector vector) {
      super(vector);
    }

    @Override
    public void close() {}
  }

  private static boolean isFlat(FieldVector vector) {
    return vector instanceof BigIntVector
        || vector instanceof IntVector
        || vector instanceof SmallIntVector
        || vector instanceof TinyIntVector
        || vector instanceof Float8Vector
        || vector instanceof Float4Vector
        || vector instanceof DateDayVector
        || vector instanceof TimeStampMicroVector
        || vector instanceof TimeStampMicroTZVector
        || vector instanceof VarCharVector
        || vector instanceof VarBinaryVector;
  }

  private FlatColumn(ArrowColumnVector column, FieldVector source) {
    super(column.dataType());
    vector = column;
    nulls = source.getNullCount();
    validity = source.getValidityBuffer().memoryAddress();
    offsets =
        source instanceof BaseVariableWidthVector ? source.getOffsetBuffer().memoryAddress() : 0L;
    values = source.getDataBuffer().memoryAddress();
  }

  @Override
  public boolean hasNull() {
    return nulls > 0;
  }

  @Override
  public int numNulls() {
    return nulls;
  }

  @Override
  public boolean isNullAt(int row) {
    return nulls > 0 && (Platform.getByte(null, validity + (row >> 3)) >> (row & 7) & 1) == 0;
  }

  @Override
  public byte getByte(int row) {
    return Platform.getByte(null, values + row);
  }

  @Override
  public short getShort(int row) {
    return Platform.getShort(null, values + 2L * row);
  }

  @Override
  public int getInt(int row) {
    return Platform.getInt(null, values + 4L * row);
  }

  @Override
  public long getLong(int row) {
    return Platform.getLong(null, values + 8L * row);
  }

  @Override
  public float getFloat(int row) {
    return Platform.getFloat(null, values + 4L * row);
  }

  @Override
  public double getDouble(int row) {
    return Platform.getDouble(null, values + 8L * row);
  }

  /** The string refers to the memory of the batch, as that of ArrowColumnVector does. */
  @Override
  public UTF8String getUTF8String(int row) {
    if (isNullAt(row)) return null;
    int start = Platform.getInt(null, offsets + 4L * row);
    int end = Platform.getInt(null, offsets + 4L * row + 4);
    return UTF8String.fromAddress(null, values + start, end - start);
  }

  @Override
  public byte[] getBinary(int row) {
    return vector.getBinary(row);
  }

  @Override
  public boolean getBoolean(int row) {
    return vector.getBoolean(row);
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    return vector.getDecimal(row, precision, scale);
  }

  @Override
  public ColumnarArray getArray(int row) {
    return vector.getArray(row);
  }

  @Override
  public ColumnarMap getMap(int row) {
    return vector.getMap(row);
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    throw new UnsupportedOperationException("a column of simple values has no children");
  }

  @Override
  public void close() {
    vector.close();
  }
}
