package io.tamis.rules.joins

import io.tamis.conf.TamisConf
import io.tamis.planning.ScanConstraints
import io.tamis.rules.goals.GoalRule
import io.tamis.rules.joins.BroadcastEstimate.mayBroadcast
import io.tamis.rules.relations.{FilteredRelation, TamisRelation, TamisScanRelation}
import io.tamis.runtime.{KeyMembership, RuntimeCondition}

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf

/** Keeps the row-level Bloom filters of joins whose keys the files are clustered by.
  *
  * A scan of tamis offers such keys to dynamic partition pruning. Spark then adds a pruning
  * subquery, and InjectRuntimeFilter adds no Bloom filter for a key that has one. If Spark shuffles
  * the join, it removes the subquery again, so the join would have neither (4.0 to 4.3). A key is
  * therefore not offered if every join that could prune by it
  *
  *   - may get a Bloom filter for it, and
  *   - is too large to broadcast the other side, or prunes files by [[RuntimeKeys]] already.
  *
  * In both cases the subquery would rule out no further files.
  */
object LeaveKeysToBloomFilters extends GoalRule {

  /** Without these confs Spark adds no subquery, prunes by a subquery that needs no broadcast, or
    * adds no Bloom filter.
    */
  override protected def isOn(conf: SQLConf): Boolean =
    TamisConf.runtimeFiltersEnabled(conf) && conf.runtimeFilterBloomFilterEnabled &&
      conf.dynamicPartitionPruningEnabled && conf.dynamicPartitionPruningReuseBroadcastOnly

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = {
    val prunings = Pruning.allOf(plan)
    val left = prunings.flatMap(columnsLeft).distinct
    if (left.isEmpty) plan
    else {
      val offered = prunings.flatMap(p => columnsPruned(p).diff(columnsLeft(p)))
      val columns = left.filterNot(offered.contains)
      def added(relation: LogicalPlan, purpose: ScanConstraints): Set[String] =
        columns.collect { case Column(r, name) if r eq relation => name }.toSet --
          purpose.leftToBloomFilters
      def leaving(names: Set[String])(purpose: ScanConstraints): ScanConstraints =
        purpose.copy(leftToBloomFilters = purpose.leftToBloomFilters ++ names)
      // the scans of IN and EXISTS are in subqueries, and already built
      plan.transformDownWithSubqueries {
        case relation @ TamisRelation(table) =>
          val names = added(relation, table.purpose)
          if (names.isEmpty) relation else TamisRelation.scannedFor(relation)(leaving(names))
        case relation @ TamisScanRelation(scan) =>
          val names = added(relation, scan.table.purpose)
          if (names.isEmpty) relation
          else TamisScanRelation.scannedFor(relation, scan, leaving(names)(scan.table.purpose))
      }
    }
  }

  /** A column of a scan; relations are compared by identity, because a self-join has two equal
    * ones.
    */
  private final case class Column(relation: LogicalPlan, name: String) {
    override def equals(other: Any): Boolean = other match {
      case Column(r, n) => (r eq relation) && n == name
      case _            => false
    }
    override def hashCode(): Int = name.hashCode
  }

  private def columnsOf(origin: Expression, relation: LogicalPlan): Seq[Column] =
    origin.references.toSeq.map(a => Column(relation, a.name))

  /** The columns by which dynamic partition pruning may prune scans of tamis. */
  private def columnsPruned(p: Pruning): Seq[Column] =
    p.keys.flatMap { case (_, to) => Pruning.origin(to, p.pruned) }.flatMap {
      case (origin, relation @ (TamisRelation(_) | TamisScanRelation(_))) =>
        columnsOf(origin, relation)
      case _ => Nil
    }

  private def columnsLeft(p: Pruning): Seq[Column] = p.originsOfBloomFilters.flatMap {
    case (origin, relation @ (TamisRelation(_) | TamisScanRelation(_)))
        if !p.broadcastHint &&
          (!mayBroadcast(p.filtered) || hasRuntimeKeys(origin, relation, p.pruned)) =>
      columnsOf(origin, relation)
    case _ => Nil
  }

  private def hasRuntimeKeys(
      key: Expression,
      relation: LogicalPlan,
      pruned: LogicalPlan
  ): Boolean = pruned.exists {
    case FilteredRelation(scan) if scan.relation eq relation =>
      scan.condition.exists(_.exists {
        case RuntimeCondition(KeyMembership(k, _)) => k.semanticEquals(key)
        case _                                     => false
      })
    case _ => false
  }
}
