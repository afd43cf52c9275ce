package io.tamis.bridge;

import org.apache.spark.api.python.PythonUtils;

/**
 * Where Spark finds pyspark.
 *
 * <p>Written in Java: Scala's private[spark] makes this part inaccessible to Scala code outside of
 * Spark, but it is public in the bytecode.
 */
final class SparkPythonPath {
  private SparkPythonPath() {}

  /** The directories and archives of this machine in which pyspark is found. */
  static String get() {
    return PythonUtils.sparkPythonPath();
  }
}
