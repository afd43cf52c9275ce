package io.tamis.report;

import java.util.concurrent.TimeoutException;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;

/**
 * Spark's events.
 *
 * <p>Written in Java: Scala's private[spark] makes these parts inaccessible to Scala code outside
 * of Spark, but they are public in the bytecode (checked on 4.0 to 4.3).
 */
public final class SparkEvents {
  private SparkEvents() {}

  /** What ran; null where the event was read from a log of events. */
  static QueryExecution planOf(SparkListenerSQLExecutionEnd event) {
    return event.qe();
  }

  /** Waits until the listeners have received all events so far. */
  public static void delivered(SparkContext context, long timeoutMs) throws TimeoutException {
    context.listenerBus().waitUntilEmpty(timeoutMs);
  }
}
