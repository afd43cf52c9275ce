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
    * partitions. Above them, ties of a sort and the order of a result do not count.
    */
  def isUsedBy(node: LogicalPlan): Boolean = node match {
    // ties of its sort: row_number, lag, frames of rows
    case _: Sample | _: Window => true
    // functions of the user over partitions or groups: MapPartitions, MapInPandas, FlatMapGroups …
    case _ if node.nodeName.contains("Map") => true
    case _                                  => node.expressions.exists(isUsedBy)
  }

  private def isUsedBy(e: Expression): Boolean = e.exists {
    case function: AggregateFunction => !isFree(function)
    case _                           => false
  }
}
