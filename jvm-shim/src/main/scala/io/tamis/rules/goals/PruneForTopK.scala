package io.tamis.rules.goals

import io.tamis.conf.TamisConf
import io.tamis.planning.{FileSelection, Question, ScanGoal, ScanPlanner}
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

/** Confines the scan under ORDER BY with LIMIT to files that can hold one of the first rows.
  *
  * Spark puts a LocalLimit, with the OFFSET added, over the projections over a global Sort, also
  * below a window that only ranks. A scan that returns all of the first rows, and fewer of the
  * others, leads to the same result: among rows with equal keys Spark may choose any.
  */
object PruneForTopK extends GoalRule {
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
    val shown = ScanGoal.First(rows, ExpressionWriter.sqlOf(scan.atScan(first)))
    ScanPlanner
      .ask(scan.table, scan.conjuncts, goal)
      .flatMap { goalAnswer =>
        val listing = goalAnswer.asked.listing
        GoalReader.first(goalAnswer.answer, listing.size, withoutIds(key), goal).map {
          case (files, until) => (FileSelection.of(listing, files), until)
        }
      } match {
      case Right((files, until)) =>
        val implied = until.toSeq.filterNot(isOnPartitions(_, scan))
        scan.scannedFor(plan, shown, Right(files), implied)
      case Left(reason) => scan.scannedFor(plan, shown, Left(reason))
    }
  }

  /** Whether the expression has partition columns, which files do not contain. */
  private def isOnPartitions(e: Expression, scan: ScanBelow): Boolean = {
    val partitions = scan.table.relation.partitionSchema.fieldNames.toSet
    e.references.exists(a => partitions(a.name))
  }

  /** The expression without attribute ids, so that two scans of one table are equal wherever they
    * are in the plan.
    */
  private def withoutIds(e: Expression): Expression =
    e.transform { case a: AttributeReference => a.withExprId(ExprId(0)).withQualifier(Nil) }

  /** A global Sort over a scan, under projections.
    *
    * Matched by type and accessors, because the constructor of Sort has another argument since 4.0
    * (checked on 4.0 to 4.3).
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
