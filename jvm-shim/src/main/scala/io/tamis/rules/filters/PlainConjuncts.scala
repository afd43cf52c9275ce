package io.tamis.rules.filters

import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.{DynamicPruning, Expression, SubqueryExpression}

/** The conjuncts of a filter that can be sent to the planner before the query runs. */
object PlainConjuncts {

  def of(condition: Expression): Seq[Expression] =
    ExpressionWriter.conjuncts(condition).filter(isPlain)

  /** Whether its value for a row is known before the query runs. */
  def isPlain(e: Expression): Boolean =
    e.deterministic && !SubqueryExpression.hasSubquery(e) &&
      !e.exists(_.isInstanceOf[DynamicPruning])
}
