package io.tamis.rules.relations

import io.tamis.formats.FormatFailure
import io.tamis.formats.delta.DeltaFiles
import io.tamis.rules.OptimizedSubquery

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{DynamicPruning, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Subquery}

/** Lets tables of tamis replace relations of Delta in subqueries.
  *
  * Spark optimizes a subquery on its own, before the query that it is part of. Delta chooses files
  * only in the whole query, for which it fixes one version of each table, and then in its
  * subqueries, too. So the subquery is optimized once more, now that its files are known: rules of
  * tamis find them, and Spark hands filters and columns to scans.
  */
private[relations] object DeltaInSubqueries {

  def taken(session: SparkSession, plan: LogicalPlan): LogicalPlan = plan.transformAllExpressions {
    case s: SubqueryExpression if isWaiting(s.plan) =>
      FormatFailure.kept[SubqueryExpression](s) {
        val again = OptimizedSubquery.optimized(session, Subquery.fromExpression(s))
        s.withNewPlan(again).asInstanceOf[SubqueryExpression]
      }
  }

  /** Whether a table of tamis may replace a relation whose files Delta has chosen now. Spark adds
    * dynamic pruning to each optimized plan, and must not add it twice.
    */
  private def isWaiting(plan: LogicalPlan): Boolean = {
    val isPruned = plan.exists(_.expressions.exists(_.exists(_.isInstanceOf[DynamicPruning])))
    !isPruned && plan.exists {
      case FileRelation(relation, DeltaFiles(_)) => Eligibility.refusal(relation).isEmpty
      case _                                     => false
    }
  }
}
