package io.tamis.remote;

import java.util.Map;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;

/**
 * How Spark runs Python.
 *
 * <p>Written in Java: Scala's private[spark] makes these parts inaccessible to Scala code outside
 * of Spark, but they are public in the bytecode.
 */
final class SparkPython {
  private SparkPython() {}

  /** The interpreter that runs a data source. */
  static String interpreter(UserDefinedPythonDataSource source) {
    return function(source).pythonExec();
  }

  /** The environment variables for it. */
  static Map<String, String> environment(UserDefinedPythonDataSource source) {
    return function(source).envVars();
  }

  private static PythonFunction function(UserDefinedPythonDataSource source) {
    return source.dataSourceCls();
  }
}
