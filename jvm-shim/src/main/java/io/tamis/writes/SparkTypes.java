package io.tamis.writes;

import org.apache.spark.sql.types.StructType;

/**
 * Spark's types.
 *
 * <p>Written in Java: Scala's private[spark] makes these parts inaccessible to Scala code outside
 * of Spark, but they are public in the bytecode (checked on 4.0 to 4.3).
 */
final class SparkTypes {
  private SparkTypes() {}

  /** The same columns, all of which may hold NULL: as Spark reads files. */
  static StructType nullable(StructType schema) {
    return schema.asNullable();
  }
}
