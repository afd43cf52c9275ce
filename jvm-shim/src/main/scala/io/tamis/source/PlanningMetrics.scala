package io.tamis.source

import java.util.concurrent.atomic.AtomicReference

import scala.util.control.NonFatal

import com.codahale.metrics.{Gauge, MetricRegistry}
import io.tamis.bridge.{SidecarSupervisor, Warnings}
import org.apache.spark.SparkContext

/** What was decided since this driver started, for whatever Spark reports its metrics to. */
object PlanningMetrics {
  private lazy val registry: MetricRegistry = {
    val made = new MetricRegistry
    made.register(
      "sidecar.alive",
      new Gauge[Int] {
        override def getValue: Int = if (SidecarSupervisor.current.exists(_.isAlive)) 1 else 0
      }
    )
    Seq("scans.planned", "scans.fallback", "files.total", "files.kept", "bytes.total", "bytes.kept")
      .foreach(made.counter(_)) // 0 of them is a number too
    made.histogram("planning.ms")
    made
  }
  private val shownIn = new AtomicReference[SparkContext]()

  /** From now on, once for each context. Never throws. */
  def showIn(context: SparkContext): Unit =
    if (shownIn.getAndSet(context) ne context) quietly(SparkMetrics.register(context, registry))

  /** A scan was planned. A query that is explained and then run plans its scans twice. Never
    * throws.
    */
  def planned(decision: Decision): Unit = quietly {
    val kept = decision.kept
    registry.counter("scans.planned").inc()
    if (decision.fallbackReason.isDefined) registry.counter("scans.fallback").inc()
    registry.counter("files.total").inc(kept.listing.size.toLong)
    registry.counter("files.kept").inc(kept.count.toLong)
    registry.counter("bytes.total").inc(kept.listing.totalBytes)
    registry.counter("bytes.kept").inc(kept.bytes)
    registry.histogram("planning.ms").update(math.round(decision.planningMillis))
  }

  private def quietly(act: => Unit): Unit =
    try act
    catch {
      // a LinkageError: a Spark whose internals are not those that the jar was built for
      case e @ (NonFatal(_) | _: LinkageError) =>
        Warnings.once(
          "metrics:failed",
          s"the metrics of tamis are not counted or not shown ($e). Queries are not affected.",
          e
        )
    }
}
