package io.tamis.source

import java.util.concurrent.atomic.AtomicReference

import scala.util.control.NonFatal

import com.codahale.metrics.{Gauge, MetricRegistry}
import io.tamis.bridge.{SidecarSupervisor, Warnings}
import org.apache.spark.SparkContext

/** What was decided since this driver started, for whatever Spark reports its metrics to. */
object PlanningMetrics {
  private val Counters = Seq(
    "scans.planned",
    "scans.fallback",
    "scans.observed",
    "files.total",
    "files.kept",
    "files.observed",
    "bytes.total",
    "bytes.kept",
    "bytes.observed",
    "audits.passed",
    "audits.disagreement",
    "audits.failed",
    "audits.files"
  )

  private lazy val registry: MetricRegistry = {
    val made = new MetricRegistry
    made.register(
      "sidecar.alive",
      new Gauge[Int] {
        override def getValue: Int = if (SidecarSupervisor.current.exists(_.isAlive)) 1 else 0
      }
    )
    Counters.foreach(made.counter(_)) // 0 of them is a number too
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
    decision.observed match {
      case Some(would) =>
        registry.counter("scans.observed").inc()
        registry.counter("files.observed").inc(would.kept.count.toLong)
        registry.counter("bytes.observed").inc(would.kept.bytes)
      case None => if (decision.fallbackReason.isDefined) registry.counter("scans.fallback").inc()
    }
    registry.counter("files.total").inc(kept.listing.size.toLong)
    registry.counter("files.kept").inc(kept.count.toLong)
    registry.counter("bytes.total").inc(kept.listing.totalBytes)
    registry.counter("bytes.kept").inc(kept.bytes)
    registry.histogram("planning.ms").update(math.round(decision.planningMillis))
  }

  /** A scan was audited (spark.tamis.audit), and so many files were read again. Never throws.
    *
    * @param result
    *   passed, disagreement or failed
    */
  def audited(result: String, files: Long): Unit = quietly {
    registry.counter(s"audits.$result").inc()
    registry.counter("audits.files").inc(files)
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
