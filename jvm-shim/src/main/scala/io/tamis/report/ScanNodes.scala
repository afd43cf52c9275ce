package io.tamis.report

import io.tamis.rules.SwapFileIndex
import io.tamis.source.{Decision, PlannedFiles, TamisScan}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** A scan of tamis in a physical plan.
  *
  * @param filesRead
  *   what run-time filters left of the files that are kept
  * @param filter
  *   the filter right above it, whose rows are those that passed
  */
final case class ScanNode(
    files: PlannedFiles,
    decision: Decision,
    filesRead: Long,
    node: SparkPlan,
    filter: Option[FilterExec]
)

object ScanNodes extends AdaptiveSparkPlanHelper {

  /** Every scan once, those of subqueries and adaptive stages among them; and those below the
    * cached plans that are asked for.
    */
  def of(plan: SparkPlan, cached: SparkPlan => Boolean): Seq[ScanNode] = {
    // of a filter over another one it is the upper one, which comes first, whose rows pass both
    val filters = collectWithSubqueries(plan) { case f: FilterExec => below(f.child).map(_ -> f) }
    def above(node: SparkPlan) = filters.flatten.collectFirst { case (s, f) if s eq node => f }
    val found = collectWithSubqueries(plan) {
      case b: BatchScanExec =>
        b.scan match {
          case s: TamisScan => Seq(ScanNode(s.table, s.decision, s.filesRead.toLong, b, above(b)))
          case _            => Nil
        }
      case f: FileSourceScanExec =>
        f.relation match {
          case SwapFileIndex(index) =>
            val kept = index.decision.kept.count.toLong
            Seq(ScanNode(index.files, index.decision, kept, f, above(f)))
          case _ => Nil
        }
      case m: InMemoryTableScanExec =>
        val plan = m.relation.cachedPlan
        if (cached(plan)) of(plan, cached) else Nil
    }.flatten
    once(found)(_.node)
  }

  /** What was decided, each decision once; those below all cached plans among them. */
  def decided(plan: SparkPlan): Seq[ScanNode] = once(of(plan, _ => true))(_.decision)

  /** A subquery stands in a plan more than once where it was merged of several, or where a scan
    * waits for its value; it runs once. So does an exchange that is reused.
    */
  def once[A](all: Seq[A])(what: A => AnyRef): Seq[A] =
    all.foldLeft(Vector.empty[A]) { (seen, each) =>
      if (seen.exists(s => what(s) eq what(each))) seen else seen :+ each
    }

  /** The scan that nodes which change no row lead to. */
  private def below(plan: SparkPlan): Option[SparkPlan] = plan match {
    case scan: DataSourceScanExec => Some(scan)
    case scan: BatchScanExec      => Some(scan)
    case _: FilterExec | _: ProjectExec | _: ColumnarToRowTransition | _: InputAdapter |
        _: WholeStageCodegenExec =>
      below(plan.children.head)
    case _ => None
  }
}
