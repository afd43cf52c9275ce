package io.tamis.rules

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._

/** What may depend on the order of rows, or on the partition that a row is in. Catalyst calls most
  * of it deterministic.
  */
object RowOrder {

  /** Whether the aggregate has the same value for the same rows in any order, except for the
    * rounding of floating-point numbers. `first`, `max_by`, `mode` and `collect_list` do not.
    */
  def isFree(function: AggregateFunction): Boolean = function match {
    case _: Min | _: Max | _: Count | _: Sum | _: Average => true
    case _: CentralMomentAgg | _: HyperLogLogPlusPlus     => true
    case _                                                => false
  }

  /** Whether a node of the plan may return other rows if its input is in another order or in other
    * partitions. That is assumed of all nodes but these: a window numbers ties of its sort, a
    * sample and the functions and scripts of a user see partitions. The order of the result does
    * not count.
    */
  def isUsedBy(node: LogicalPlan): Boolean = node match {
    case _: LeafNode | _: Project | _: Filter | _: Join | _: Aggregate | _: Expand | _: Generate |
        _: Union | _: Sort | _: LocalLimit | _: GlobalLimit | _: Offset | _: ReturnAnswer |
        _: Subquery | _: SubqueryAlias | _: WithCTE | _: CTERelationDef =>
      node.expressions.exists(isUsedBy)
    case _ => true
  }

  private def isUsedBy(e: Expression): Boolean = e.exists {
    case function: AggregateFunction => !isFree(function)
    case _                           => false
  }
}
