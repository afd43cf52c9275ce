package io.tamis.planning

import io.tamis.bridge.{AnyFailure, OncePerContext, SidecarSupervisor}

import com.codahale.metrics.{Gauge, MetricRegistry}
import org.apache.spark.SparkContext

/** Counts the decisions since this driver started, for the sinks of Spark's metrics system. */
object PlanningMetrics {
  private val Counters = Seq(
    "scans.planned",
    "scans.fallback",
    "scans.beforeStart",
    "scans.observed",
    "files.total",
    "files.kept",
    "files.observed",
    "bytes.total",
    "bytes.kept",
    "bytes.observed",
    "audits.files"
  ) ++ AuditOutcome.worstFirst.map(counterOf)

  private def counterOf(outcome: AuditOutcome): String = s"audits.${outcome.name}"

  private lazy val registry: MetricRegistry = {
    val made = new MetricRegistry
    made.register(
      "sidecar.alive",
      new Gauge[Int] {
        override def getValue: Int = if (SidecarSupervisor.current.exists(_.isAlive)) 1 else 0
      }
    )
    Counters.foreach(made.counter(_)) // registered at once, so that sinks also report 0
    made.histogram("planning.ms")
    made
  }
  private val shownIn = new OncePerContext

  /** Starts to publish the metrics, once per context. Never throws. */
  def showIn(context: SparkContext): Unit =
    shownIn(context)(quietly(SparkMetrics.register(context, registry)))

  /** Counts a planned scan. A query that is explained and then run plans its scans twice. Never
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
      case None =>
        decision.fallbackReason.foreach { why =>
          registry.counter(if (why.isBeforeStart) "scans.beforeStart" else "scans.fallback").inc()
        }
    }
    registry.counter("files.total").inc(kept.listing.tableSize.files)
    registry.counter("files.kept").inc(kept.count.toLong)
    registry.counter("bytes.total").inc(kept.listing.tableSize.bytes)
    registry.counter("bytes.kept").inc(kept.bytes)
    registry.histogram("planning.ms").update(math.round(decision.planningMillis))
  }

  /** Counts an audited scan and the files that the audit read. Never throws. */
  def audited(result: AuditResult): Unit = quietly {
    registry.counter(counterOf(result.outcome)).inc()
    registry.counter("audits.files").inc(result.files)
  }

  private def quietly(act: => Unit): Unit =
    AnyFailure.warned(
      _ => "metrics:failed",
      "the metrics of tamis cannot be counted or published",
      "Report this error. Queries are not affected."
    )(act)(_ => ())
}
