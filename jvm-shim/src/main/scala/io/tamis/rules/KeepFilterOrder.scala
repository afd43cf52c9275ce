package io.tamis.rules

import io.tamis.source.TamisScan
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.{
  And,
  DynamicPruning,
  Expression,
  ScalarSubquery,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{
  ColumnarRule,
  FilterExec,
  SparkPlan,
  ScalarSubquery => PlannedSubquery
}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.SQLConf

/** Conjuncts with a scalar subquery are evaluated where they were written.
  *
  * Spark's push-down to a V2 source puts them behind all others, its V1 scan does not. The order
  * decides whether `a = (SELECT …) AND CAST(s AS INT) = 3` raises the error of a cast in a row for
  * which the first is false: then a query fails that plain Spark answers.
  *
  * `Remember` writes the order down before the push-down, `Restore` puts the conjuncts of the
  * physical filter into it. Where they are not those that were remembered, the filter stays.
  */
object KeepFilterOrder {

  object Remember extends GoalRule {
    override val ruleName: String = "io.tamis.rules.KeepFilterOrder.Remember"
    override protected def isOn(conf: SQLConf): Boolean = true

    override protected def rewritten(plan: LogicalPlan): LogicalPlan =
      plan.transformDownWithSubqueries {
        case filter @ Filter(condition, relation @ TamisRelation(table)) =>
          // IN and EXISTS become joins above the filter, with tamis and without; run-time filters
          // are moved to the scan
          val order = ExpressionWriter
            .conjuncts(condition)
            .filterNot(_.exists(_.isInstanceOf[DynamicPruning]))
            .filter(c => isScalar(c) || !SubqueryExpression.hasSubquery(c))
            .map(isScalar)
          if (order == order.sorted) filter // the subqueries come last as it is
          else {
            val purpose = table.purpose.copy(subqueryAt = order)
            filter.mapChildren(_ => TamisRelation.of(table.scannedFor(purpose), relation.output))
          }
      }

    private def isScalar(e: Expression): Boolean = {
      val subqueries = e.collect { case s: SubqueryExpression => s }
      subqueries.nonEmpty && subqueries.forall(_.isInstanceOf[ScalarSubquery])
    }
  }

  /** Before columns become rows: under adaptive execution for every stage anew. */
  object Restore extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = RestoreOrder
  }

  private object RestoreOrder extends GoalPhysicalRule {
    override val ruleName: String = "io.tamis.rules.KeepFilterOrder.Restore"

    override protected def rewritten(plan: SparkPlan): SparkPlan = plan.transformDown {
      case filter: FilterExec =>
        filter.child match {
          case scan: BatchScanExec =>
            scan.scan match {
              case tamis: TamisScan => restored(filter, tamis)
              case _                => filter
            }
          case _ => filter
        }
    }

    private def restored(filter: FilterExec, scan: TamisScan): FilterExec = {
      val order = scan.table.purpose.subqueryAt
      val (subqueries, residual) =
        ExpressionWriter
          .conjuncts(filter.condition)
          .partition(_.exists(_.isInstanceOf[PlannedSubquery]))
      // what was exact has left the filter
      val exact = scan.decision.conjuncts.map(_.isExact).iterator
      val places = order.flatMap { isSubquery =>
        if (isSubquery) Some(true) else if (exact.hasNext && exact.next()) None else Some(false)
      }
      val fits = !exact.hasNext && places.count(identity) == subqueries.size &&
        places.count(!_) == residual.size
      if (order.isEmpty || !fits) filter
      else {
        val (s, r) = (subqueries.iterator, residual.iterator)
        val conjuncts = places.map(isSubquery => if (isSubquery) s.next() else r.next())
        FilterExec(conjuncts.reduceLeft(And(_, _)), filter.child)
      }
    }
  }
}
