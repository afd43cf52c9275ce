package io.tamis.formats;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * Rows in the form in which Spark computes with them.
 *
 * <p>Written in Java: Scala's private[sql] makes these parts inaccessible to Scala code outside of
 * Spark, but they are public in the bytecode (seen on 4.1).
 */
final class SparkRows {
  private SparkRows() {}

  /** A query whose rows an RDD computes. */
  static Dataset<Row> query(SparkSession session, RDD<InternalRow> rows, StructType schema) {
    return session.internalCreateDataFrame(rows, schema, false);
  }
}
