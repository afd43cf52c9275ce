package io.tamis.rules.filters

import io.tamis.rules.goals.GoalRule
import io.tamis.rules.relations.TamisScanRelation
import io.tamis.scan.TamisScan
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.{Expression, IsNotNull}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf

/** Removes `c IS NOT NULL` above a scan that is already built, if the scan has proven it.
  *
  * The scans of a correlated subquery are built before the subquery becomes a side of a join, and
  * exact conjuncts have left its plan. From the keys of the join, Spark then infers IS NOT NULL
  * again. Such a filter costs time for every row. It also makes a broadcast or shuffle of the
  * subquery differ from the same one in the query itself, so that Spark runs both.
  *
  * Only IS NOT NULL: other conjuncts that rules of Spark look for stay ([[KeepUsedFilters]]).
  */
object DropProvenNotNull extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean = true

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case filter @ Filter(condition, relation @ TamisScanRelation(scan)) =>
      val conjuncts = ExpressionWriter.conjuncts(condition)
      val left = conjuncts.filterNot(isProven(_, scan))
      if (left.size == conjuncts.size) filter else PlainConjuncts.filtered(left, relation)
  }

  // an exact conjunct is true for every row that the scan returns, also after run-time filters,
  // which only leave out rows
  private def isProven(conjunct: Expression, scan: TamisScan): Boolean =
    conjunct.isInstanceOf[IsNotNull] && scan.decision.conjuncts.exists { c =>
      c.isExact && c.expression.semanticEquals(conjunct)
    }
}
