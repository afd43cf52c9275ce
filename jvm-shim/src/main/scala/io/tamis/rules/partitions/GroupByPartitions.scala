package io.tamis.rules.partitions

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.planning.ScanGoal
import io.tamis.rules.goals.GoalRule
import io.tamis.rules.joins.BroadcastEstimate
import io.tamis.rules.relations.TamisRelation
import io.tamis.wire.Reason
import java.util.{Collections, IdentityHashMap}

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{
  Ascending,
  Attribute,
  Expression,
  SortOrder,
  UnsafeRow
}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf

/** Lets the scans of partitioned tables report that each task reads all rows of some partition
  * values, so that Spark joins, aggregates and ranks by these columns without an exchange (Spark
  * calls this a storage-partitioned join).
  *
  * No result depends on this rule: a scan that reports its partitioning reads the same rows in
  * other tasks, and all rows with equal values of the reported columns are in one task, because a
  * directory has one value of each partition column and no directory is in two groups. Spark itself
  * decides whether that is what an operator needs, and adds an exchange where it is not. With the
  * confs in [[isExact]], which are off by default, its decisions are not exact: groups of (p, q)
  * count as groups of p, also below an aggregate or a window by p, or the rows of a group are
  * spread over tasks (seen in 4.1).
  *
  * A grouped scan has one task for each group, so a scan is grouped only if
  *   - an operator above it would otherwise need an exchange of many rows, and can do without one:
  *     a join that Spark will not broadcast, an aggregate by further columns or with DISTINCT, a
  *     window;
  *   - the groups are large enough and even enough: see [[GroupSizes]].
  *
  * A grouped scan also reports the order of the rows of each task, if the operator needs one and an
  * index has recorded that the rows of the files are in it: see [[OrderInGroups]]. Then Spark does
  * not sort them again.
  */
object GroupByPartitions extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean =
    TamisConf.mode(conf) == Mode.Apply && TamisConf.partitionGroupsEnabled(conf) &&
      conf.v2BucketingEnabled && isExact(conf)

  private def isExact(conf: SQLConf): Boolean =
    !conf.v2BucketingAllowJoinKeysSubsetOfPartitionKeys &&
      !conf.v2BucketingPartiallyClusteredDistributionEnabled && !conf.v2BucketingShuffleEnabled

  override protected def rewritten(plan: LogicalPlan): LogicalPlan =
    if (plan.isStreaming || !plan.exists(isPartitioned)) plan
    else {
      val groups = new Groups
      plan.foreachUp {
        case join: Join                                  => groups.addJoin(join)
        case a: Aggregate if groups.exchangesManyRows(a) =>
          val order = if (groups.mayBeSorted(a)) ascending(a.groupingExpressions) else Nil
          groups.addAll(a.groupingExpressions, a.child, order)
        case w: Window =>
          groups.addAll(w.partitionSpec, w.child, ascending(w.partitionSpec) ++ w.orderSpec)
        case _ =>
      }
      if (groups.isEmpty) plan
      else plan.transformDown { case relation @ TamisRelation(_) => groups.applied(relation) }
    }

  private def ascending(keys: Seq[Expression]): Seq[SortOrder] = keys.map(SortOrder(_, Ascending))

  /** Without such a scan, no side of a join is worth an estimate. */
  private def isPartitioned(plan: LogicalPlan): Boolean = plan match {
    case TamisRelation(table) => table.relation.partitionSchema.nonEmpty
    case _                    => false
  }

  /** What is decided about the scan of a relation.
    *
    * @param by
    *   the columns of the groups; Left: why there are none
    */
  private final case class Outcome(
      relation: LogicalPlan,
      columns: Seq[String],
      refusal: Option[Reason]
  ) {
    def by: Either[Reason, Seq[String]] = refusal.toLeft(columns)
  }

  /** What is decided about the scans of one plan, from the bottom to the top. */
  private final class Groups {
    private val outcomes = mutable.ArrayBuffer.empty[Outcome]
    private val grouped = Collections.newSetFromMap(new IdentityHashMap[Join, java.lang.Boolean])
    private val broadcast = new IdentityHashMap[Join, (Boolean, Boolean)]

    /** What the lowest operator needs of each scan. */
    private val orders = new IdentityHashMap[LogicalPlan, OrderInGroups.Wanted]

    def isEmpty: Boolean = outcomes.isEmpty

    /** The relation with its scan as decided. A scan that one operator did not pay for may be
      * grouped for another one.
      */
    def applied(relation: LogicalPlan): LogicalPlan =
      outcomes.filter(_.relation eq relation).foldLeft(relation) { (scanned, outcome) =>
        val goal = ScanGoal.Groups(outcome.columns)
        val grouped = TamisRelation.scannedFor(scanned)(_.grouped(outcome.by, goal))
        if (outcome.refusal.isDefined) grouped else sorted(relation, grouped, outcome.columns)
      }

    private def sorted(
        relation: LogicalPlan,
        grouped: LogicalPlan,
        columns: Seq[String]
    ): LogicalPlan =
      Option(orders.get(relation)).filter(_ => TamisConf.fileOrderEnabled(conf)).fold(grouped) {
        wanted =>
          val order = OrderInGroups.of(wanted, columns)
          TamisRelation.scannedFor(grouped)(_.ordered(order, ScanGoal.Order(wanted.names)))
      }

    /** Groups of partition columns alone are few: their partial results are exchanged at no cost.
      * Partial results of DISTINCT and of further columns are many.
      */
    def exchangesManyRows(a: Aggregate): Boolean =
      a.groupingExpressions.exists(e => !e.foldable && origin(e, a.child).isEmpty) ||
        a.aggregateExpressions.exists(_.exists {
          case e: AggregateExpression => e.isDistinct
          case _                      => false
        })

    /** Whether Spark may aggregate sorted rows: it does if a buffer cannot be changed in place, as
      * that of the maximum of strings, or if a conf says so.
      */
    def mayBeSorted(a: Aggregate): Boolean =
      conf.getConf(SQLConf.REPLACE_HASH_WITH_SORT_AGG_ENABLED) ||
        a.aggregateExpressions.exists(_.exists {
          case e: AggregateExpression =>
            !e.aggregateFunction.aggBufferAttributes.forall(b => UnsafeRow.isMutable(b.dataType))
          case _ => false
        })

    private def origin(key: Expression, plan: LogicalPlan): Option[PartitionColumn] =
      column(key, plan).flatMap(PartitionColumn.of)

    private def column(key: Expression, plan: LogicalPlan): Option[ScanColumn] = key match {
      case a: Attribute => ScanColumn.origin(a, plan)(staying)
      case _            => None
    }

    /** Notes that an operator needs these rows in this order. */
    private def sort(order: Seq[SortOrder], child: LogicalPlan): Unit =
      OrderInGroups.wanted(order, column(_, child)).foreach { wanted =>
        orders.putIfAbsent(wanted.scan.relation, wanted): Unit
      }

    /** Whether the rows of the left side, and whether those of the right side, stay in their tasks:
      * if the other side is broadcast, or neither side is exchanged.
      */
    private def staying(join: Join): (Boolean, Boolean) =
      if (grouped.contains(join)) (true, true) else estimated(join).swap

    /** Computed once for each join, because it may ask the planner. */
    private def estimated(join: Join): (Boolean, Boolean) =
      broadcast.computeIfAbsent(join, BroadcastEstimate.sides(_))

    /** One operator with one child, which needs rows with equal keys in one task. */
    def addAll(keys: Seq[Expression], child: LogicalPlan, order: Seq[SortOrder]): Unit = {
      val found = keys.flatMap(origin(_, child)).groupBy(_.scan.relation).values
      if (found.headOption.exists(columns => group(Seq(columns)))) sort(order, child)
    }

    def addJoin(join: Join): Unit = join match {
      case ExtractEquiJoinKeys(_, leftKeys, rightKeys, _, _, left, right, _) =>
        val pairs = leftKeys.zip(rightKeys).flatMap { case (l, r) =>
          origin(l, left).zip(origin(r, right))
        }
        val ofOneScanEach = pairs.headOption.toSeq.flatMap { case (l, r) =>
          pairs.filter { case (a, b) =>
            (a.scan.relation eq l.scan.relation) && (b.scan.relation eq r.scan.relation)
          }
        }
        // Spark's condition for the keys of the two sides
        val areEnough = ofOneScanEach.size == leftKeys.size ||
          !conf.getConf(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_CO_PARTITION)
        if (ofOneScanEach.nonEmpty && areEnough && estimated(join) == (false, false)) {
          val (l, r) = ofOneScanEach.unzip
          if (group(Seq(l, r))) {
            grouped.add(join): Unit
            sort(ascending(leftKeys), left)
            sort(ascending(rightKeys), right)
          }
        }
      case _ =>
    }

    /** Groups these scans, each by its columns, if that pays and agrees with earlier decisions. */
    private def group(sides: Seq[Seq[PartitionColumn]]): Boolean = {
      val wanted = sides.map(columns => columns.head.scan -> columns.map(_.name))
      val known = wanted.map { case (scan, names) =>
        outcomes
          .find(o => (o.relation eq scan.relation) && o.refusal.isEmpty)
          .map(_.columns == names)
      }
      val isDistinct = wanted.forall { case (_, names) => names.distinct.size == names.size }
      if (!isDistinct || known.contains(Some(false))) false
      else if (!known.contains(None)) true
      else {
        val sizes = wanted.map { case (scan, names) => GroupSizes.of(scan, names) }
        if (sizes.contains(None)) false
        else {
          val refusal =
            sizes.flatten.reduce(_ and _).refusal(GroupLimits(wanted.head._1.table.session))
          outcomes ++= wanted.zip(known).collect { case ((scan, names), None) =>
            Outcome(scan.relation, names, refusal)
          }
          refusal.isEmpty
        }
      }
    }
  }
}
