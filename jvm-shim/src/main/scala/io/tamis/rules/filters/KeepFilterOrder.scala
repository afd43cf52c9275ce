package io.tamis.rules.filters

import io.tamis.rules.goals.{GoalPhysicalRule, GoalRule}
import io.tamis.rules.relations.{FilteredRelation, TamisRelation}
import io.tamis.scan.{TamisScan, TamisScanExec}
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.{
  And,
  DynamicPruning,
  Expression,
  ScalarSubquery,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{
  ColumnarRule,
  FilterExec,
  SparkPlan,
  ScalarSubquery => PlannedSubquery
}
import org.apache.spark.sql.internal.SQLConf

/** Evaluates conjuncts with a scalar subquery where they were written.
  *
  * Spark's push-down to a V2 source moves them behind all others, but its V1 scan does not. The
  * order decides whether `a = (SELECT …) AND CAST(s AS INT) = 3` raises the error of the cast in a
  * row for which the first conjunct is false: in the wrong order a query fails that plain Spark
  * answers.
  *
  * `Remember` records the order before the push-down, and `Restore` sorts the conjuncts of the
  * physical filter accordingly. If they do not match the recorded order, the filter stays as it is.
  */
object KeepFilterOrder {

  object Remember extends GoalRule {
    override val ruleName: String = "io.tamis.rules.KeepFilterOrder.Remember"
    override protected def isOn(conf: SQLConf): Boolean = true

    override protected def rewritten(plan: LogicalPlan): LogicalPlan =
      plan.transformDownWithSubqueries { case filtered @ FilteredRelation(scan) =>
        // IN and EXISTS become joins above the filter, with and without tamis; run-time filters
        // are moved to the scan
        val order = scan.condition.toSeq
          .flatMap(ExpressionWriter.conjuncts)
          .filterNot(_.exists(_.isInstanceOf[DynamicPruning]))
          .filter(c => isScalar(c) || !SubqueryExpression.hasSubquery(c))
          .map(isScalar)
        if (order == order.sorted) filtered // the subqueries already come last
        else filtered.mapChildren(TamisRelation.scannedFor(_)(_.copy(subqueryAt = order)))
      }

    private def isScalar(e: Expression): Boolean = {
      val subqueries = e.collect { case s: SubqueryExpression => s }
      subqueries.nonEmpty && subqueries.forall(_.isInstanceOf[ScalarSubquery])
    }
  }

  /** Runs before columns become rows; under adaptive execution it runs again for every stage. */
  object Restore extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = RestoreOrder
  }

  private object RestoreOrder extends GoalPhysicalRule {
    override val ruleName: String = "io.tamis.rules.KeepFilterOrder.Restore"

    override protected def rewritten(plan: SparkPlan): SparkPlan = plan.transformDown {
      case filter @ FilterExec(_, TamisScanExec(_, scan)) => restored(filter, scan)
    }

    private def restored(filter: FilterExec, scan: TamisScan): FilterExec = {
      val order = scan.table.purpose.subqueryAt
      val (subqueries, residual) =
        ExpressionWriter
          .conjuncts(filter.condition)
          .partition(_.exists(_.isInstanceOf[PlannedSubquery]))
      // exact conjuncts have left the filter
      val exact = scan.decision.conjuncts.map(_.isExact).iterator
      val places = order.flatMap { isSubquery =>
        if (isSubquery) Some(true) else if (exact.hasNext && exact.next()) None else Some(false)
      }
      // Spark may have added conjuncts, such as a Bloom filter. They come last, as in plain Spark.
      val fits = !exact.hasNext && places.count(identity) <= subqueries.size &&
        places.count(!_) <= residual.size
      if (order.isEmpty || !fits) filter
      else {
        val (s, r) = (subqueries.iterator, residual.iterator)
        val written = places.map(isSubquery => if (isSubquery) s.next() else r.next())
        val added = r ++ s
        FilterExec((written ++ added).reduceLeft(And(_, _)), filter.child)
      }
    }
  }
}
