package io.tamis.rules

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{NamedExpression, ScalarSubquery}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Subquery}

/** A subquery that a rule adds to a plan, and whose rows a scan awaits at run time. */
object OptimizedSubquery {

  /** The subquery whose value is the first column of this plan. */
  def apply(session: SparkSession, plan: LogicalPlan): ScalarSubquery =
    of(optimized(session, plan))

  /** The plan is optimized here, including its scans: Spark plans what a rule adds after the
    * batches for subqueries without optimizing it (seen on 4.0 to 4.3). As in OptimizeSubqueries,
    * the node Subquery keeps MergeScalarSubqueries from merging the Bloom filters inside. That rule
    * runs again over the whole query, and fails on subqueries that it has merged before.
    */
  def optimized(session: SparkSession, plan: LogicalPlan): LogicalPlan =
    optimized(session, Subquery(plan, correlated = false))

  /** The same for a subquery that may be correlated. */
  def optimized(session: SparkSession, subquery: Subquery): LogicalPlan =
    session.sessionState.optimizer.execute(subquery).children.head

  /** The subquery of an optimized plan. */
  def of(optimized: LogicalPlan): ScalarSubquery =
    // plan, outer attributes, id, join conditions, hint and two flags of decorrelation: the same
    // parameters on 4.0.5, 4.1.3, 4.2.1 and 4.3.0
    ScalarSubquery(optimized, Nil, NamedExpression.newExprId, Nil, None, None, None)
}
