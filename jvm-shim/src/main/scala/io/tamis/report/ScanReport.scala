package io.tamis.report

import io.tamis.planning.{Conjunct, Decision, PlannedFiles, ScanDetail, Timing}
import io.tamis.rules.goals.{AggregateFromStatistics, AnsweredByStatistics}
import io.tamis.wire.{Json, Outcome, Share}
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}

/** The decisions behind the scans of a physical plan, as JSON. Plans the query but never runs it.
  */
object ScanReport {

  /** What the scan nodes show: [{"table", "files_kept", …, "conjuncts": [{"sql", …}]}]. */
  def scans(execution: QueryExecution): String =
    Json.text(ScanNodes.decided(execution.executedPlan).map(scan => of(scan, Nil)))

  /** The same with totals of the whole table, what each conjunct prunes on its own, and the
    * relations that are left to Spark: {"scans": […], "left_to_spark": [{"table", "reason",
    * "reasons"}], "answered": [{"table", "goal", "files"}]}. "answered" lists scans that statistics
    * replaced, so that they are not in the plan.
    */
  def explained(execution: QueryExecution): ObjectNode = Json.obj(
    "scans" -> ScanNodes.decided(execution.executedPlan).map(withDetail),
    "left_to_spark" -> LeftToSpark.of(execution),
    "answered" -> answered(execution.optimizedPlan)
  )

  /** The decision for every scan of the plan, with the files it is about. */
  def decisions(plan: SparkPlan): Seq[(PlannedFiles, Decision)] =
    ScanNodes.decided(plan).map(scan => (scan.files, scan.decision))

  private def answered(plan: LogicalPlan): Seq[AnsweredByStatistics] = {
    val tagged = plan.collectWithSubqueries { case node =>
      node.getTagValue(AggregateFromStatistics.Answered)
    }.flatten
    ScanNodes.once(tagged)(identity)
  }

  /** @param outcomes
    *   what the planner says in detail about each conjunct; Nil: not asked
    */
  private def of(scan: ScanNode, outcomes: Seq[Outcome]): ObjectNode = {
    val d = scan.decision.shown
    val isPart = scan.files.isPart
    val conjuncts = d.conjuncts.zipWithIndex.map { case (c, i) =>
      outcomes.lift(i).fold(of(c))(addDetail(of(c), c, _))
    }
    Json.put(
      Json.obj(ScanFields.sizes(scan): _*),
      // the rest was left out before tamis was asked
      "files_listed" -> Some(d.kept.listing)
        .filterNot(_ => isPart || d.kept.listing.isWholeTable)
        .map(_.size),
      "files_in_unopened_manifests" -> Some(d.kept.listing)
        .filter(_ => isPart)
        .map(listing => listing.tableSize.files - listing.size),
      "timing" -> of(d.timing),
      "fallback_reason" -> scan.decision.fallbackReason,
      "remembered_files" -> d.rememberedFiles,
      "remembered_row_groups" -> d.rememberedRowGroups,
      "implied" -> d.impliedSql,
      "goals" -> ScanFields.goals(scan),
      "runtime" -> scan.conditions,
      "conjuncts" -> conjuncts
    )
  }

  private def of(c: Conjunct): ObjectNode =
    Json.put(
      ScanFields.conjunct(c),
      "pruned_files" -> c.prunedFiles,
      "remembered" -> c.isRemembered
    )

  /** Null where nothing was measured. */
  private def of(timing: Option[Timing]): ObjectNode = {
    val planner = timing.flatMap(_.planner)
    Json.obj(
      "listing_ms" -> timing.map(_.listing),
      "question_ms" -> timing.map(_.question),
      "planner_ms" -> planner.map(_.inAll),
      "opening_ms" -> planner.map(_.opening)
    )
  }

  /** The scan with the effects of each conjunct. A scan of a catalog table lists only the
    * partitions that match; the totals here cover all partitions.
    */
  private def withDetail(scan: ScanNode): ObjectNode = {
    val decision = scan.decision.shown
    val detail = new ScanDetail(scan.files, decision)
    val answer = detail.effects().toOption
    val out = Json.put(
      of(scan, answer.toSeq.flatMap(_.outcomes)),
      "files_total" -> detail.listing.tableSize.files,
      "bytes_total" -> detail.listing.tableSize.bytes
    )
    answer.filter(_ => detail.listing.isWholeTable).foreach { answer =>
      Json.put(out, "rows_total" -> answer.totalRecords)
      if (decision.rowGroups.isDefined)
        Json.put(out, "row_groups_total" -> answer.rowGroups.flatMap(_.total))
    }
    out
  }

  private def addDetail(out: ObjectNode, c: Conjunct, outcome: Outcome): ObjectNode = {
    Json.put(out, share("pruned", outcome.pruned) ++ share("added", outcome.added): _*)
    Json.put(out, "pruned_by" -> outcome.prunedBy)
    if (c.reason.exists(r => Coarse(r.code))) Json.put(out, "reason" -> outcome.reason) else out
  }

  /** Reasons for which the planner can give a more precise one when it looks at all files
    * (tamis.plan.detail.reason_detail).
    */
  private val Coarse = io.tamis.wire.Reasons.coarse

  private def share(name: String, share: Option[Share]): Seq[(String, Any)] = Seq(
    s"${name}_files" -> share.map(_.files),
    s"${name}_bytes" -> share.flatMap(_.bytes),
    s"${name}_rows" -> share.flatMap(_.rows)
  )
}
