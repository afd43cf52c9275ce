package io.tamis.rules.joins

import io.tamis.planning.UsedFilters
import io.tamis.rules.relations.TamisRelation
import io.tamis.wire.ExpressionWriter
import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{EqualNullSafe, EqualTo, Expression}
import org.apache.spark.sql.catalyst.optimizer.InjectRuntimeFilter
import org.apache.spark.sql.catalyst.plans.{JoinType, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf

/** A way in which Spark's rules may prune one side of a join by the keys of the other side.
  *
  * @param filtered
  *   the side whose filter Spark looks for
  * @param pruned
  *   the side whose rows without a match may be dropped
  * @param keys
  *   keys of `filtered`, and the keys of `pruned` that they are equal to
  * @param broadcastHint
  *   whether a hint broadcasts `filtered`
  */
final case class Pruning(
    filtered: LogicalPlan,
    pruned: LogicalPlan,
    keys: Seq[(Expression, Expression)],
    broadcastHint: Boolean
) {

  /** The keys of `filtered` for which InjectRuntimeFilter may build a Bloom filter, as far as
    * `pruned` decides: each with the expression that the key of `pruned` comes from, and the leaf
    * of the plan that it belongs to. Empty if no scan of `pruned` is large enough.
    */
  def originsOfBloomFilters: Seq[(Expression, LogicalPlan)] = {
    val origins = keys.flatMap { case (from, to) =>
      if (UsedFilters.isSimple(from) && UsedFilters.isSimple(to))
        Pruning.origin(to, pruned)
      else None
    }
    val threshold =
      SQLConf.get.getConf(SQLConf.RUNTIME_BLOOM_FILTER_APPLICATION_SIDE_SCAN_SIZE_THRESHOLD)
    if (origins.nonEmpty && largestScan >= threshold) origins else Nil
  }

  /** The size in bytes of the largest scan of `pruned`. For scans that were not built yet this is
    * an upper bound, because pruning may make them smaller.
    */
  private def largestScan: BigInt =
    pruned
      .collectLeaves()
      .map {
        case TamisRelation(table)    => BigInt(table.relation.sizeInBytes)
        case _: DataSourceV2Relation => BigInt(Long.MaxValue)
        case leaf                    => Try(leaf.stats.sizeInBytes).getOrElse(BigInt(Long.MaxValue))
      }
      .max
}

object Pruning {

  /** The expression that a key comes from, and the leaf of the plan that it belongs to, as Spark's
    * rules find them.
    */
  def origin(key: Expression, plan: LogicalPlan): Option[(Expression, LogicalPlan)] =
    InjectRuntimeFilter.findExpressionAndTrackLineageDown(key, plan)

  /** Those of all joins, IN and EXISTS of the plan. */
  def allOf(plan: LogicalPlan): Seq[Pruning] = plan.collect {
    case join: Join if join.condition.nonEmpty => ofJoin(join)
    case filter: Filter                        => ofSubqueries(filter)
  }.flatten

  private def ofJoin(join: Join): Seq[Pruning] =
    of(
      join.left,
      join.right,
      keysOf(join.condition.toSeq, join.left, join.right),
      join.joinType,
      leftHint = InjectRuntimeFilter.hintToBroadcastLeft(join.hint),
      rightHint = InjectRuntimeFilter.hintToBroadcastRight(join.hint)
    )

  /** IN and EXISTS become joins after the pre-CBO rules. Their subqueries are already built, so
    * only the scans of the outer side can be changed.
    */
  private def ofSubqueries(filter: Filter): Seq[Pruning] =
    ExpressionWriter
      .conjuncts(filter.condition)
      .flatMap(SubqueryJoin.of(_, filter.child))
      .filter(_.sides.left)
      .flatMap { join =>
        // the outer side's own filter is the same node
        of(filter, join.plan, join.keys, LeftSemi, leftHint = false, rightHint = false)
      }

  private def of(
      left: LogicalPlan,
      right: LogicalPlan,
      keys: Seq[(Expression, Expression)],
      joinType: JoinType,
      leftHint: Boolean,
      rightHint: Boolean
  ): Seq[Pruning] =
    if (keys.isEmpty) Nil
    else
      (if (InjectRuntimeFilter.canPruneRight(joinType)) Seq(Pruning(left, right, keys, leftHint))
       else Nil) ++
        (if (InjectRuntimeFilter.canPruneLeft(joinType))
           Seq(Pruning(right, left, keys.map(_.swap), rightHint))
         else Nil)

  private def keysOf(
      conditions: Seq[Expression],
      left: LogicalPlan,
      right: LogicalPlan
  ): Seq[(Expression, Expression)] = {
    conditions.flatMap(ExpressionWriter.conjuncts).flatMap {
      case EqualTo(a, b)       => JoinKeys.sides(a, b, left, right)
      case EqualNullSafe(a, b) => JoinKeys.sides(a, b, left, right)
      case _                   => None
    }
  }
}
