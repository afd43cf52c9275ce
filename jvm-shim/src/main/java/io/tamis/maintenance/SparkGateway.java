package io.tamis.maintenance;

import org.apache.spark.SparkConf;
import org.apache.spark.api.python.Py4JServer;
import org.apache.spark.sql.classic.SparkSession;

/**
 * A gateway through which a Python process runs jobs in this driver, as PySpark does.
 *
 * <p>Written in Java: Scala's private[spark] makes these parts inaccessible to Scala code outside
 * of Spark, but they are public in the bytecode (checked on 4.0 to 4.3).
 */
final class SparkGateway {
  private final Py4JServer server;

  /** Starts to listen, on this machine only. Clients need the secret. */
  SparkGateway(SparkConf conf) {
    server = new Py4JServer(conf);
    server.start();
  }

  int port() {
    return server.getListeningPort();
  }

  String secret() {
    return server.secret();
  }

  void close() {
    server.shutdown();
  }

  /** A session with the same settings and temporary functions. */
  static SparkSession copy(SparkSession session) {
    return session.cloneSession();
  }
}
