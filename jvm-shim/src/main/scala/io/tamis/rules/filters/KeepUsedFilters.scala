package io.tamis.rules.filters

import io.tamis.conf.TamisConf
import io.tamis.planning.{
  AskAhead,
  Clustering,
  FilterUse,
  OncePerRule,
  Same,
  ScanPlanner,
  SeemsSelective
}
import io.tamis.rules.goals.GoalRule
import io.tamis.rules.joins.Pruning
import io.tamis.rules.relations.{FileRelation, FilteredRelation, TamisRelation}
import io.tamis.scan.TamisTable

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, IsNotNull}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.read.{SupportsRuntimeFiltering, SupportsRuntimeV2Filtering}
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2Relation,
  DataSourceV2ScanRelation
}
import org.apache.spark.sql.internal.SQLConf

/** Finds the scans whose filters later rules of Spark look for.
  *
  * An exact filter leaves the plan when its scan is built, before these rules run (rule lists of
  * 4.0.5, 4.1.3, 4.2.1 and 4.3.0):
  *
  * {{{
  *   PartitionPruning         a filter anywhere on one side of a join that is likely to be
  *                            selective, so that its keys prune a partitioned scan of the other
  *                            side
  *   InjectRuntimeFilter      a likely selective, simple filter over a scan below projections and
  *                            joins on one side, so that a Bloom filter of its keys drops rows of
  *                            the other side
  *   StarSchemaDetection      a predicate over a dimension other than IS NOT NULL (called by
  *                            CostBasedJoinReorder under joinReorder.dp.star.filter)
  *   FilterEstimation         every filter: statistics of the scan account for those that are gone
  *                            (KeptStatistics), which also covers cost-based join reordering, the
  *                            choice of join strategies and all other users of estimates
  *   MergeSubplans (4.2)      filters that differ between scans of the same rows. Scans that read
  *                            different files are different rows, and are not merged
  *   OptimizeMetadataOnlyQuery  partition filters of a V1 relation; AggregateFromStatistics serves
  *                            these queries
  * }}}
  *
  * No other rule of these versions looks at a filter over a scan. Push-down, inference and
  * elimination of outer joins come before the scan is built; PropagateEmptyRelation, limits and
  * one-row plans look at relations without rows and at row counts; the rules of adaptive execution
  * (DynamicJoinSelection, skewed joins, AQEPropagateEmptyRelation) look at sizes of shuffles;
  * partially clustered storage-partitioned joins look at estimated sizes, and a scan of tamis
  * reports no partitioning.
  *
  * So for the first three a filter is left if such a rule can use it: the conf is on, the filter
  * would leave the plan, the join may drop rows of the other side, and sizes may meet the
  * thresholds. Sizes are only known once the files are chosen, so a [[FilterUse]] states the sizes
  * for which the filter is left ([[io.tamis.planning.UsedFilters]]).
  */
object KeepUsedFilters extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean =
    conf.dynamicPartitionPruningEnabled || conf.runtimeFilterBloomFilterEnabled || usesStars(conf)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = {
    val filters = filtersOf(plan)
    if (filters.isEmpty) plan
    else {
      AskAhead(plan.foreach {
        case FilteredRelation(scan) if scan.conjuncts.nonEmpty =>
          ScanPlanner.decide(scan.table, scan.conjuncts): Unit
        case _ =>
      })
      val uses = plan match {
        case query: Subquery => ofSubquery(query.child) ++ ofJoins(plan)
        case _               => ofJoins(plan)
      }
      if (uses.isEmpty) plan else noted(plan, uses)
    }
  }

  /** A relation and a use of the filter over it. */
  private type Use = (LogicalPlan, FilterUse)

  private def noted(plan: LogicalPlan, uses: Seq[Use]): LogicalPlan = plan.transformDown {
    case relation @ TamisRelation(table) =>
      val own = uses.collect { case (r, use) if r eq relation => use }.distinct
      if (own.isEmpty || own == table.purpose.filterUses) relation
      else TamisRelation.scannedFor(relation)(_.copy(filterUses = own))
  }

  /** Relations under a filter that a rule may look for. */
  private def filtersOf(plan: LogicalPlan): Seq[LogicalPlan] =
    relationsUnder(plan)(!_.isInstanceOf[IsNotNull])

  /** Relations whose filter is likely to be selective, and leaves the plan as far as it is. Where a
    * part of it stays, rules find that part.
    */
  private def selectivelyFiltered(plan: LogicalPlan): Seq[LogicalPlan] = plan.collect {
    case FilteredRelation(scan) if scan.conjuncts.exists(SeemsSelective(_)) && leavesPlan(scan) =>
      scan.relation
  }

  /** Asks the question of the scan itself, so that the scan need not ask it again. */
  private def leavesPlan(scan: FilteredRelation): Boolean =
    OncePerRule(Leaves(new Same(scan.relation))) {
      val (left, stays) = ScanPlanner
        .decide(scan.table, scan.conjuncts)
        .conjuncts
        .filter(c => SeemsSelective(c.expression))
        .partition(_.isExact)
      left.nonEmpty && stays.isEmpty
    }

  private final case class Leaves(relation: Same)

  /** Relations under a filter with such a conjunct. */
  private def relationsUnder(plan: LogicalPlan)(counts: Expression => Boolean): Seq[LogicalPlan] =
    plan.collect { case FilteredRelation(scan) if scan.conjuncts.exists(counts) => scan.relation }

  // ---- joins ----

  private def ofJoins(plan: LogicalPlan): Seq[Use] = {
    val pruning = Pruning.allOf(plan).flatMap(p => partitionPruning(p) ++ bloomFilter(p))
    if (usesStars(conf) && plan.exists(_.isInstanceOf[Join]))
      pruning ++ filtersOf(plan).map(_ -> FilterUse(-1, Long.MaxValue, anyPredicate = true))
    else pruning
  }

  // ---- PartitionPruning ----

  private def partitionPruning(p: Pruning): Seq[Use] =
    if (!conf.dynamicPartitionPruningEnabled) Nil
    else {
      val relations = selectivelyFiltered(p.filtered)
      if (relations.isEmpty || !p.keys.exists { case (_, key) => isPrunable(key, p.pruned) }) Nil
      else {
        // keys come from a broadcast, or from a subquery of their own
        val anySize = p.broadcastHint || !conf.dynamicPartitionPruningReuseBroadcastOnly
        val atMost = if (anySize) Long.MaxValue else conf.autoBroadcastJoinThreshold
        relations.map(r => r -> FilterUse(-1, bytesOfFiles(r, p.filtered, atMost)))
      }
    }

  /** Whether run-time values of the key can prune a scan: those that
    * PartitionPruning.getFilterableTableScan finds, and scans of tamis that are not built yet.
    */
  private def isPrunable(key: Expression, plan: LogicalPlan): Boolean =
    Pruning.origin(key, plan).exists {
      case (origin, FileRelation(_, files)) =>
        isOf(origin, files.partitionSchema.fieldNames.toSeq)
      case (origin, relation: HiveTableRelation) =>
        isOf(origin, relation.partitionCols.map(_.name))
      case (origin, relation @ TamisRelation(table)) =>
        isOf(origin, table.relation.partitionSchema.fieldNames.toSeq) ||
        isClustered(origin, relation, table, plan)
      case (origin, relation: DataSourceV2ScanRelation) =>
        val names = relation.scan match {
          case scan: SupportsRuntimeFiltering   => scan.filterAttributes.toSeq
          case scan: SupportsRuntimeV2Filtering => scan.filterAttributes.toSeq
          case _                                => Nil
        }
        isOf(origin, names.map(_.fieldNames.mkString(".")))
      case (_, _: DataSourceV2Relation) => true // another source: only its scan will know
      case _                            => false
    }

  private def isOf(e: Expression, columns: Seq[String]): Boolean =
    e.references.forall(a => columns.contains(a.name))

  /** Whether the key is a column that TamisScan offers to Spark's dynamic pruning besides partition
    * columns.
    */
  private def isClustered(
      key: Expression,
      relation: LogicalPlan,
      table: TamisTable,
      plan: LogicalPlan
  ): Boolean = TamisConf.runtimeFiltersEnabled(conf) && key.isInstanceOf[Attribute] && {
    val conjuncts = plan
      .collectFirst { case FilteredRelation(scan) if scan.relation eq relation => scan.conjuncts }
      .getOrElse(Nil)
    ScanPlanner.hasChoice(table, conjuncts) &&
    Clustering.of(table, conjuncts, Seq(key)).contains(true)
  }

  // ---- InjectRuntimeFilter ----

  private def bloomFilter(p: Pruning): Seq[Use] =
    if (!conf.runtimeFilterBloomFilterEnabled) Nil
    else {
      val relations = selectivelyFiltered(p.filtered).filter(isReached(_, p.filtered))
      val worthIt = relations.nonEmpty && p.originsOfBloomFilters.nonEmpty
      if (worthIt) relations.map(r => r -> bloomFilterOf(r, p.filtered, mayShuffle(p.pruned)))
      else Nil
    }

  /** The use of the filter for a Bloom filter. Spark creates one where rows are shuffled: by this
    * join, or on the side that is pruned. Below another join the size of the filtered side is not
    * known.
    */
  private def bloomFilterOf(
      relation: LogicalPlan,
      filtered: LogicalPlan,
      shuffles: Boolean
  ): FilterUse = {
    val below =
      if (shuffles || !isChain(filtered, relation)) -1L
      else bytesOfFiles(relation, filtered, conf.autoBroadcastJoinThreshold)
    // with estimates of rows, a small side may have large files
    val above = if (estimatesRows) -1L else below
    val upTo = bytesOfFiles(relation, filtered, conf.runtimeFilterCreationSideThreshold)
    FilterUse(above, upTo, simpleOnly = true)
  }

  private def isReached(relation: LogicalPlan, plan: LogicalPlan): Boolean =
    (plan eq relation) || (plan match {
      case _: Project | _: Filter | _: Join => plan.children.exists(isReached(relation, _))
      case _                                => false
    })

  private def mayShuffle(plan: LogicalPlan): Boolean = plan.exists {
    case _: Join | _: Aggregate | _: Window => true
    case _                                  => false
  }

  // ---- sizes ----

  /** The maximum size of a relation's files, in bytes, for which a side can have at most `size`
    * bytes. Projections above the relation reduce the size of the side in proportion to Spark's
    * estimate of the row size. If there is more than projections and filters, or if Spark estimates
    * rows, the limit is not known.
    */
  private def bytesOfFiles(relation: LogicalPlan, side: LogicalPlan, size: Long): Long =
    if (size < 0) -1
    else if (estimatesRows || !isChain(side, relation)) Long.MaxValue
    else {
      val part = rowSize(side.output) / rowSize(relation.output)
      math.min(size / part, Long.MaxValue.toDouble).toLong
    }

  private def isChain(plan: LogicalPlan, relation: LogicalPlan): Boolean =
    (plan eq relation) || (plan match {
      case _: Project | _: Filter => isChain(plan.children.head, relation)
      case _                      => false
    })

  private def rowSize(output: Seq[Attribute]): Double =
    8.0 + output.map(_.dataType.defaultSize).sum

  private def estimatesRows: Boolean = conf.cboEnabled

  private def usesStars(conf: SQLConf): Boolean =
    conf.cboEnabled && conf.joinReorderEnabled && conf.joinReorderDPStarFilter

  // ---- subqueries ----

  /** A subquery of IN or EXISTS becomes a side of a join later, and the other side is not known
    * here. Subqueries are optimized on their own, so this may as well be a scalar subquery: those
    * that return a single row are treated as such.
    */
  private def ofSubquery(plan: LogicalPlan): Seq[Use] =
    if (isOneRow(plan)) Nil
    else
      selectivelyFiltered(plan).flatMap { relation =>
        val anySize = !conf.dynamicPartitionPruningReuseBroadcastOnly
        val atMost = if (anySize) Long.MaxValue else conf.autoBroadcastJoinThreshold
        val pruning =
          if (conf.dynamicPartitionPruningEnabled)
            Seq(FilterUse(-1, bytesOfFiles(relation, plan, atMost)))
          else Nil
        val bloom =
          if (conf.runtimeFilterBloomFilterEnabled && isReached(relation, plan))
            Seq(bloomFilterOf(relation, plan, shuffles = true))
          else Nil
        (pruning ++ bloom).map(relation -> _)
      }

  private def isOneRow(plan: LogicalPlan): Boolean = plan match {
    case a: Aggregate           => a.groupingExpressions.isEmpty
    case _: Project | _: Filter => isOneRow(plan.children.head)
    case _                      => false
  }
}
