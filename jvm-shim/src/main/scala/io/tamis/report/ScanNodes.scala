package io.tamis.report

import io.tamis.formats.delta.DeltaBatch
import io.tamis.planning.{Decision, PlannedFiles}
import io.tamis.rules.relations.SwapFileIndex
import io.tamis.scan.{TamisFileIndex, TamisScanExec}
import org.apache.spark.sql.catalyst.expressions.{DynamicPruning, Expression}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** A scan of tamis in a physical plan.
  *
  * @param conditions
  *   predicates whose values are known only when the query runs
  * @param read
  *   what the scan reads; None if that is known only when the query has run
  * @param filter
  *   the filter directly above the scan; its output rows are those that passed
  */
final case class ScanNode(
    files: PlannedFiles,
    decision: Decision,
    conditions: Seq[KnownWhenRun],
    read: Option[SizeRead],
    node: SparkPlan,
    filter: Option[FilterExec]
)

/** The size of what a scan reads.
  *
  * @param bytes
  *   None if not known
  */
final case class SizeRead(files: Long, bytes: Option[Long])

object ScanNodes extends AdaptiveSparkPlanHelper {

  /** Returns every scan once, including those of subqueries, adaptive stages and the samples that
    * other scans have read, and those below the cached plans for which `cached` is true.
    */
  def of(plan: SparkPlan, cached: SparkPlan => Boolean): Seq[ScanNode] = {
    // of two stacked filters, the upper one comes first; its rows pass both
    val filters = collectWithSubqueries(plan) { case f: FilterExec => below(f.child).map(_ -> f) }
    def above(node: SparkPlan) = filters.flatten.collectFirst { case (s, f) if s eq node => f }
    val scans = collectWithSubqueries(plan) {
      case TamisScanExec(b, s) =>
        val boundary = s.table.purpose.boundary
        val conditions = RuntimeConditions.of(b.runtimeFilters, above(b).map(_.condition)) ++
          boundary.map(known => KnownWhenRun(known.text, prunes = true))
        val planned = Option.when(!conditions.exists(_.prunes))(s.decision.kept)
        val read = s.runtimeKept.orElse(planned).map(k => SizeRead(k.count, Some(k.bytes)))
        ScanNode(s.table, s.decision, conditions, read, b, above(b)) +:
          boundary.toSeq.flatMap(_.plans).flatMap(of(_, cached))
      case f: FileSourceScanExec =>
        f.relation match {
          case DecidedFiles(index) =>
            val kept = index.decision.kept
            val conditions = RuntimeConditions.of(
              f.partitionFilters.filter(isDynamic),
              above(f).map(_.condition)
            )
            val read =
              if (!conditions.exists(_.prunes)) Some(SizeRead(kept.count, Some(kept.bytes)))
              else countedBySpark(f)
            Seq(ScanNode(index.files, index.decision, conditions, read, f, above(f)))
          case _ => Nil
        }
      case m: InMemoryTableScanExec =>
        val plan = m.relation.cachedPlan
        if (cached(plan)) of(plan, cached) else Nil
    }.flatten
    once(scans)(_.node)
  }

  /** The decision about the files of a V1 relation. */
  private object DecidedFiles {
    def unapply(relation: HadoopFsRelation): Option[TamisFileIndex] =
      SwapFileIndex.unapply(relation).orElse(DeltaBatch.decided(relation))
  }

  private def isDynamic(e: Expression): Boolean = e.exists(_.isInstanceOf[DynamicPruning])

  /** The files that Spark counts when the scan runs, after dynamic pruning. */
  private def countedBySpark(scan: FileSourceScanExec): Option[SizeRead] = {
    def metric(name: String) = scan.metrics.get(name).map(_.value).filter(_ > 0)
    metric("numFiles").map(SizeRead(_, metric("filesSize")))
  }

  /** The scans of a plan, each decision once, including those below all cached plans. */
  def decided(plan: SparkPlan): Seq[ScanNode] = once(of(plan, _ => true))(_.decision)

  /** Removes duplicates by identity. A subquery appears more than once in a plan if it was merged
    * from several, or if a scan waits for its value, but it runs once. The same holds for a reused
    * exchange.
    */
  def once[A](all: Seq[A])(what: A => AnyRef): Seq[A] =
    all.foldLeft(Vector.empty[A]) { (seen, each) =>
      if (seen.exists(s => what(s) eq what(each))) seen else seen :+ each
    }

  /** The scan below filters, projections and nodes that pass rows on unchanged. */
  private def below(plan: SparkPlan): Option[SparkPlan] = plan match {
    case scan: DataSourceScanExec => Some(scan)
    case scan: BatchScanExec      => Some(scan)
    case _: FilterExec | _: ProjectExec | _: ColumnarToRowTransition | _: InputAdapter |
        _: WholeStageCodegenExec =>
      below(plan.children.head)
    case _ => None
  }
}
