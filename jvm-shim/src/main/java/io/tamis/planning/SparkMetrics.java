package io.tamis.planning;

import com.codahale.metrics.MetricRegistry;
import org.apache.spark.SparkContext;
import org.apache.spark.metrics.source.Source;

/**
 * Spark's metrics system.
 *
 * <p>Written in Java: Scala's private[spark] makes these parts inaccessible to Scala code outside
 * of Spark, but they are public in the bytecode (checked on 4.0 to 4.3).
 */
final class SparkMetrics {
  private SparkMetrics() {}

  /** Shows the metrics under `tamis` in every sink of the context, as those of the driver. */
  static void register(SparkContext context, MetricRegistry metrics) {
    context.env().metricsSystem().registerSource(
        new Source() {
          @Override
          public String sourceName() {
            return "tamis";
          }

          @Override
          public MetricRegistry metricRegistry() {
            return metrics;
          }
        });
  }
}
