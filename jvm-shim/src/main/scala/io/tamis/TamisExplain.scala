package io.tamis

import io.tamis.bridge.AnyFailure
import io.tamis.planning.{Conjunct, Decision, PlannedFiles, ScanSizes}
import io.tamis.report.ScanReport
import io.tamis.wire.Reason
import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.execution.SparkPlan

/** Appends the decisions of tamis to EXPLAIN under
  * `spark.sql.extendedExplainProviders=io.tamis.TamisExplain`: every scan whose files tamis chose,
  * whether tamis or Spark reads them, with the outcome of each conjunct and the reason for it.
  *
  * It shows the decisions that were made and does not ask the planner again. `tamis_explain` and
  * `tamis_files` show more.
  */
class TamisExplain extends ExtendedExplainGenerator {
  override def title: String = "tamis"

  /** Never throws. */
  override def generateExtendedInfo(plan: SparkPlan): String =
    try {
      val scans = ScanReport.decisions(plan).zipWithIndex
      if (scans.isEmpty) "tamis does not plan any scan of this query\n"
      else scans.map { case ((table, d), i) => TamisExplain.of(i + 1, table, d) }.mkString
    } catch { case AnyFailure(e) => s"the decisions cannot be shown ($e)\n" }
}

private object TamisExplain {
  def of(number: Int, table: PlannedFiles, decision: Decision): String = {
    val d = decision.shown
    val conjuncts = d.conjuncts.map { c =>
      val known = if (c.isRemembered) s" (${Conjunct.FoundTrue})" else ""
      s"${c.pushdown.name}: ${c.sql}${why(c.reason)}$known"
    }
    val goals = table.purpose.goals.map(g =>
      s"goal ${g.text}: ${g.reason
          .fold("reads only the files that it needs")(r => "no effect" + why(Some(r)))}"
    )
    val remembered = d.rememberedText.map { what =>
      s"remembered: $what, in which an earlier scan found no row that passes"
    }
    val failed = decision.fallbackReason.map(r => "reads what plain Spark reads" + why(Some(r)))
    val observed = Option.when(decision.isObserved)(
      s"observed, not applied: ${decision.filesText} files are read"
    )
    val would = if (decision.isObserved) "would read " else ""
    (s"scan $number of ${table.name()}: $would${text(d.sizes)}" +:
      (observed ++ conjuncts ++ remembered ++ goals ++ failed).map("  " + _).toSeq)
      .mkString("", "\n", "\n")
  }

  private def text(sizes: ScanSizes): String = Seq(
    sizes.files -> "files",
    sizes.bytes -> "bytes",
    sizes.rowGroups -> "row groups",
    sizes.rows -> "rows"
  ).flatMap { case (kept, what) => kept.text.map(t => s"$t $what") }.mkString(", ")

  private def why(reason: Option[Reason]): String =
    reason.fold("")(r => s" (${r.sentence})")
}
