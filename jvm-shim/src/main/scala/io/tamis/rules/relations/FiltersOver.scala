package io.tamis.rules.relations

import io.tamis.rules.filters.PlainConjuncts
import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

/** The conjuncts of the filters that lie directly on the leaves of a plan.
  *
  * A plan returns the same if a leaf returns only rows for which its conjuncts are true: its filter
  * drops all others. A leaf at two places has none, because a row that one filter drops may pass
  * the other one. Neither has a leaf under a condition that is not deterministic, whose value may
  * depend on the rows that are read.
  */
private[relations] final class FiltersOver(plan: LogicalPlan) {
  private val conjuncts = new IdentityHashMap[LogicalPlan, Seq[Expression]]

  {
    val seen = new IdentityHashMap[LogicalPlan, Unit]
    plan.foreach {
      case Filter(condition, leaf) if leaf.children.isEmpty && condition.deterministic =>
        conjuncts.put(leaf, PlainConjuncts.of(condition)): Unit
      case leaf if leaf.children.isEmpty =>
        if (seen.containsKey(leaf)) conjuncts.put(leaf, Nil): Unit
        seen.put(leaf, ()): Unit
      case _ => ()
    }
  }

  def apply(leaf: LogicalPlan): Seq[Expression] = conjuncts.getOrDefault(leaf, Nil)
}
