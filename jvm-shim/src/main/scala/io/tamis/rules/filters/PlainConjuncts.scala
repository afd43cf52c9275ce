package io.tamis.rules.filters

import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.{
  And,
  DynamicPruning,
  Expression,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

/** The conjuncts of a filter that can be sent to the planner before the query runs. */
object PlainConjuncts {

  /** The plan under a filter of these conjuncts, or the plan itself if there are none. */
  def filtered(conjuncts: Seq[Expression], plan: LogicalPlan): LogicalPlan =
    conjuncts.reduceLeftOption(And(_, _)).fold(plan)(Filter(_, plan))

  def of(condition: Expression): Seq[Expression] =
    ExpressionWriter.conjuncts(condition).filter(isPlain)

  /** Whether its value for a row is known before the query runs. */
  def isPlain(e: Expression): Boolean =
    e.deterministic && !SubqueryExpression.hasSubquery(e) &&
      !e.exists(_.isInstanceOf[DynamicPruning])
}
