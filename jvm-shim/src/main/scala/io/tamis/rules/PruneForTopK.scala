package io.tamis.rules

import io.tamis.conf.TamisConf
import io.tamis.source.{Kept, Question, ScanPlanner}
import io.tamis.wire.{ExpressionWriter, GoalReader, TopKGoal}
import org.apache.spark.sql.catalyst.expressions.{
  AttributeReference,
  Descending,
  ExprId,
  Expression,
  IntegerLiteral,
  NullsFirst,
  SortOrder
}
import org.apache.spark.sql.catalyst.plans.logical.{LocalLimit, LogicalPlan, Project, Sort}
import org.apache.spark.sql.internal.SQLConf

/** ORDER BY with LIMIT over a scan: only files that can hold one of the first rows are read.
  *
  * Spark puts a LocalLimit, the OFFSET added, over the projections over a global Sort, also below a
  * window that only ranks. The first rows of a scan that holds all of them, and gives fewer of the
  * others, are the same: those of equal keys are Spark's to choose.
  */
object PruneForTopK extends GoalRule {
  override val ruleName: String = "io.tamis.rules.PruneForTopK"
  override protected def isOn(conf: SQLConf): Boolean = TamisConf.topKEnabled(conf)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = plan.transformDown {
    case limit @ LocalLimit(IntegerLiteral(rows), Sorted(order, scan))
        if rows > 0 && scan.table.purpose.goals.isEmpty =>
      confined(limit, rows, order, scan)
  }

  private def confined(
      plan: LogicalPlan,
      rows: Int,
      order: Seq[SortOrder],
      scan: ScanBelow
  ): LogicalPlan = {
    val first = order.head
    val key = scan.atScan(first.child)
    val goal = TopKGoal(
      rows.toLong,
      Question.writer(scan.table).write(key),
      first.direction == Descending,
      first.nullOrdering == NullsFirst,
      order.size == 1
    )
    val text = s"first $rows by ${ExpressionWriter.sqlOf(scan.atScan(first))}"
    ScanPlanner
      .ask(scan.table, scan.conjuncts, goal)
      .flatMap { found =>
        val listing = found.asked.listing
        GoalReader.first(found.answer, listing.size, withoutIds(key), goal).map {
          case (files, until) => (Kept.of(listing, files), until)
        }
      } match {
      case Right((files, until)) =>
        val implied = until.toSeq.filterNot(isOnPartitions(_, scan))
        scan.scannedFor(plan, text, None, Some(files), implied)
      case Left(reason) => scan.scannedFor(plan, text, Some(reason), None)
    }
  }

  /** Files do not hold these columns. */
  private def isOnPartitions(e: Expression, scan: ScanBelow): Boolean = {
    val partitions = scan.table.relation.partitionSchema.fieldNames.toSet
    e.references.exists(a => partitions(a.name))
  }

  /** Two scans of one table are the same wherever they stand. */
  private def withoutIds(e: Expression): Expression =
    e.transform { case a: AttributeReference => a.withExprId(ExprId(0)).withQualifier(Nil) }

  /** A global Sort over a scan, under projections.
    *
    * By type and accessors: the constructor of Sort has another argument since 4.0 (seen to hold on
    * 4.0 to 4.3).
    */
  private object Sorted {
    def unapply(plan: LogicalPlan): Option[(Seq[SortOrder], ScanBelow)] = plan match {
      case p: Project if p.projectList.forall(_.deterministic) => unapply(p.child)
      case s: Sort if s.global && s.order.nonEmpty             =>
        ScanBelow.unapply(s.child).map(s.order -> _)
      case _ => None
    }
  }
}
