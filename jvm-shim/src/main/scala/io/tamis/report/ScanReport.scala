package io.tamis.report

import com.fasterxml.jackson.databind.node.ObjectNode
import io.tamis.source.{Decision, TamisScan}
import io.tamis.wire.Messages
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** The decisions behind the scans of a physical plan, as JSON for `tamis.explain`. */
object ScanReport extends AdaptiveSparkPlanHelper {

  def of(execution: QueryExecution): String = {
    val out = Messages.mapper.createArrayNode()
    scans(execution.executedPlan).foreach(scan => write(out.addObject(), scan))
    Messages.mapper.writeValueAsString(out)
  }

  /** Subqueries, adaptive stages and cached plans included; a reused exchange is read once and
    * counted once.
    */
  private def scans(plan: SparkPlan): Seq[TamisScan] = collectWithSubqueries(plan) {
    case b: BatchScanExec         => b.scan match { case s: TamisScan => Seq(s); case _ => Nil }
    case m: InMemoryTableScanExec => scans(m.relation.cachedPlan)
  }.flatten

  private def write(out: ObjectNode, scan: TamisScan): Unit = {
    val d: Decision = scan.decision
    out.put("table", scan.table.name())
    out.put("files_kept", d.kept.count).put("files_total", d.kept.listing.size)
    out.put("bytes_kept", d.kept.bytes).put("bytes_total", d.kept.listing.totalBytes)
    d.keptRecords.fold(out.putNull("rows_kept"))(out.put("rows_kept", _))
    d.totalRecords.fold(out.putNull("rows_total"))(out.put("rows_total", _))
    out.put("planning_ms", d.planningMillis)
    d.fallback.fold(out.putNull("fallback"))(out.put("fallback", _))
    val conjuncts = out.putArray("conjuncts")
    d.conjuncts.foreach { c =>
      val node = conjuncts.addObject().put("sql", c.sql).put("pushdown", c.pushdown)
      c.reason match {
        case Some(r) =>
          node.putObject("reason").put("code", r.code).put("text", r.text).put("fix", r.fix.orNull)
        case None => node.putNull("reason")
      }
      c.prunedFiles.fold(node.putNull("pruned_files"))(node.put("pruned_files", _))
    }
  }
}
