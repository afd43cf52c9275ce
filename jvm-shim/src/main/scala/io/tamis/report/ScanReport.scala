package io.tamis.report

import io.tamis.planning.{Conjunct, Decision, PlannedFiles, ScanDetail, Timing}
import io.tamis.rules.goals.AggregateFromStatistics
import io.tamis.wire.{Messages, Share}
import io.tamis.report.Fields.{putDouble, putLong, putReason}
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}

/** The decisions behind the scans of a physical plan, as JSON. Plans the query but never runs it.
  */
object ScanReport {

  /** What the scan nodes show: [{"table", "files_kept", …, "conjuncts": [{"sql", …}]}]. */
  def scans(execution: QueryExecution): String = {
    val out = Messages.mapper.createArrayNode()
    ScanNodes.decided(execution.executedPlan).foreach(scan => write(out.addObject(), scan))
    Messages.mapper.writeValueAsString(out)
  }

  /** The same with totals of the whole table, what each conjunct prunes on its own, and the
    * relations that were left alone: {"scans": […], "left_alone": [{"table", "reason", "reasons"}],
    * "answered": [{"table", "goal", "files"}]}. "answered" lists scans that statistics replaced, so
    * that they are not in the plan.
    */
  def explain(execution: QueryExecution): String = {
    val out = Messages.mapper.createObjectNode()
    val list = out.putArray("scans")
    ScanNodes.decided(execution.executedPlan).foreach { scan =>
      val node = list.addObject()
      write(node, scan)
      addDetail(node, scan)
    }
    LeftAlone.write(execution, out.putArray("left_alone"))
    answered(execution.optimizedPlan, out.putArray("answered"))
    Messages.mapper.writeValueAsString(out)
  }

  /** The decision for every scan of the plan, with the files it is about. */
  def decisions(plan: SparkPlan): Seq[(PlannedFiles, Decision)] =
    ScanNodes.decided(plan).map(scan => (scan.files, scan.decision))

  private def answered(plan: LogicalPlan, out: ArrayNode): Unit =
    ScanNodes
      .once(
        plan.collectWithSubqueries { case node =>
          node.getTagValue(AggregateFromStatistics.Answered)
        }.flatten
      )(identity)
      .foreach(a => out.addObject().put("table", a.table).put("goal", a.text).put("files", a.files))

  private def write(out: ObjectNode, scan: ScanNode): Unit = {
    val d = scan.decision.shown
    out.put("table", scan.files.name())
    out.put("observed", scan.decision.isObserved)
    putLong(out, "files_read", scan.read.map(_.files))
    putLong(out, "bytes_read", scan.read.flatMap(_.bytes))
    out.put("files_kept", d.kept.count).put("files_total", d.kept.listing.size)
    out.put("bytes_kept", d.kept.bytes).put("bytes_total", d.kept.listing.totalBytes)
    putLong(out, "rows_kept", d.keptRecords)
    putLong(out, "rows_total", d.totalRecords)
    putLong(out, "row_groups_kept", d.rowGroups.flatMap(_.kept))
    putLong(out, "row_groups_total", d.rowGroups.flatMap(_.total))
    out.put("planning_ms", d.planningMillis)
    write(out.putObject("timing"), d.timing)
    out.put("fallback", scan.decision.fallback.orNull)
    putReason(out, scan.decision.fallbackReason, "fallback_reason")
    val implied = out.putArray("implied")
    d.impliedSql.foreach(implied.add)
    val goals = out.putArray("goals")
    scan.files.purpose.goals.foreach { g =>
      putReason(goals.addObject().put("goal", g.text), g.reason)
    }
    val runtime = out.putArray("runtime")
    scan.conditions.foreach(c => runtime.addObject().put("sql", c.sql).put("prunes", c.prunes))
    val conjuncts = out.putArray("conjuncts")
    d.conjuncts.foreach(c => write(conjuncts.addObject(), c))
  }

  private def write(out: ObjectNode, c: Conjunct): Unit = {
    out.put("sql", c.sql).put("pushdown", c.pushdown.name)
    putReason(out, c.reason)
    putLong(out, "pruned_files", c.prunedFiles)
  }

  /** Writes {"listing_ms", "question_ms", "planner_ms", "opening_ms"}; null where nothing was
    * measured.
    */
  private def write(out: ObjectNode, timing: Option[Timing]): Unit = {
    val planner = timing.flatMap(_.planner)
    putDouble(out, "listing_ms", timing.map(_.listing))
    putDouble(out, "question_ms", timing.map(_.question))
    putDouble(out, "planner_ms", planner.map(_.inAll))
    putDouble(out, "opening_ms", planner.map(_.opening))
  }

  /** Adds the effects of each conjunct. A scan of a catalog table lists only the partitions that
    * match; the totals here cover all partitions.
    */
  private def addDetail(out: ObjectNode, scan: ScanNode): Unit = {
    val decision = scan.decision.shown
    val detail = new ScanDetail(scan.files, decision)
    out.put("files_total", detail.listing.size).put("bytes_total", detail.listing.totalBytes)
    detail
      .effects()
      .foreach { answer =>
        putLong(out, "rows_total", answer.totalRecords)
        if (decision.rowGroups.isDefined)
          putLong(out, "row_groups_total", answer.rowGroups.flatMap(_.total))
        answer.outcomes.zipWithIndex.foreach { case (outcome, i) =>
          val node = out.get("conjuncts").get(i).asInstanceOf[ObjectNode]
          putShare(node, "pruned", outcome.pruned)
          putShare(node, "added", outcome.added)
          val kinds = node.putArray("pruned_by")
          outcome.prunedBy.foreach(kinds.add(_: String))
          if (decision.conjuncts(i).reason.exists(r => Coarse(r.code)))
            putReason(node, outcome.reason)
        }
      }
  }

  /** Reasons for which the planner can give a more precise one when it looks at all files
    * (tamis.plan.detail.reason_detail).
    */
  private val Coarse = Set("RANGES_OVERLAP", "VALUES_MIXED")

  private def putShare(out: ObjectNode, name: String, share: Option[Share]): Unit = {
    putLong(out, s"${name}_files", share.map(_.files))
    putLong(out, s"${name}_bytes", share.flatMap(_.bytes))
    putLong(out, s"${name}_rows", share.flatMap(_.rows))
  }
}
