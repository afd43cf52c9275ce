package io.tamis.source

import io.tamis.wire.Reasons
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf

/** Which filters of one side of a join make Spark prune the other side by what it broadcasts.
  *
  * Its rule PartitionPruning looks for a filter in the plan that compares something, which a
  * boolean column, for one, does not (PredicateHelper.isLikelySelective, seen on 4.1). A filter
  * that is gone because it is exact is not seen either, and then every partition of the other side
  * is read.
  */
object SeemsSelective {

  def apply(e: Expression): Boolean = e match {
    case Not(child)                                  => apply(child)
    case And(left, right)                            => apply(left) || apply(right)
    case Or(left, right)                             => apply(left) && apply(right)
    case _: BinaryComparison | _: In | _: InSet      => true
    case _: StringPredicate                          => true
    case _: StringRegexExpression | _: MultiLikeBase => true
    case _                                           => false
  }

  /** The decision with one such filter left to Spark, though it is true of every row, where all of
    * them are exact, and the rows are few enough to be broadcast.
    */
  def leftIn(decision: Decision): Decision = {
    val conf = SQLConf.get
    val exact = decision.conjuncts.indexWhere(c => c.isExact && apply(c.expression))
    if (
      exact < 0 || decision.residual.exists(apply) || !conf.dynamicPartitionPruningEnabled ||
      decision.kept.bytes > conf.autoBroadcastJoinThreshold
    ) decision
    else {
      val left =
        decision.conjuncts(exact).copy(pushdown = "inexact", reason = Some(Reasons("TELLS_OTHERS")))
      decision.copy(conjuncts = decision.conjuncts.updated(exact, left))
    }
  }
}
