package io.tamis.rules.filters

import io.tamis.rules.goals.GoalRule
import io.tamis.remote.{RemoteScan, RemoteTable}
import io.tamis.rules.relations.{ScanOf, TableOf, TamisRelation, TamisScanRelation}
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.DynamicPruning
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf

/** Keeps run-time filters out of recursive queries.
  *
  * Spark runs the recursive part of `WITH RECURSIVE` step by step: it plans each step again from
  * the optimized plan, with the rows of the previous step in the place of the reference. A dynamic
  * pruning filter in that plan refers to a plan that no longer exists, and analysis fails
  * ("unresolved operator", seen on 4.1 also for partitions of Spark's own scans). So scans below
  * the recursion offer no columns for run-time filters, and this rule removes those that Spark has
  * put into subqueries, which it optimizes first. Such filters only save reading; the join or the
  * filter that they follow from stays.
  */
object KeepRecursionStatic extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean = true

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = plan.transformDown {
    case recursion if isRecursion(recursion) =>
      recursion.mapChildren(_.transformUpWithSubqueries(static))
  }

  /** By name, because the class does not exist on 4.0. */
  private def isRecursion(plan: LogicalPlan): Boolean = plan.nodeName == "UnionLoop"

  private val static: PartialFunction[LogicalPlan, LogicalPlan] = {
    case relation @ TamisRelation(table) if !table.purpose.inRecursion =>
      TamisRelation.scannedFor(relation)(_.copy(inRecursion = true))
    case relation @ TamisScanRelation(scan) if !scan.table.purpose.inRecursion =>
      val purpose = scan.table.purpose.copy(inRecursion = true)
      TamisScanRelation.scannedFor(relation, scan, purpose)
    case relation @ TableOf(table: RemoteTable) if table.takesKeys =>
      TamisRelation.of(table.withoutKeys, relation.output)
    case relation @ ScanOf(scan: RemoteScan) if scan.table.takesKeys =>
      TamisScanRelation.scannedBy(relation, scan.withoutKeys)
    case Filter(condition, child) if condition.exists(_.isInstanceOf[DynamicPruning]) =>
      val rest =
        ExpressionWriter.conjuncts(condition).filterNot(_.exists(_.isInstanceOf[DynamicPruning]))
      PlainConjuncts.filtered(rest, child)
  }
}
