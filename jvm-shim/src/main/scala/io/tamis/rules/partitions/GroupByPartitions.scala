package io.tamis.rules.partitions

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.planning.{ScanConstraints, ScanGoal}
import io.tamis.rules.goals.GoalRule
import io.tamis.rules.joins.BroadcastEstimate
import io.tamis.rules.relations.TamisRelation
import io.tamis.wire.Reason
import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
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
  */
object GroupByPartitions extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean =
    TamisConf.mode(conf) == Mode.Apply && TamisConf.partitionGroupsEnabled(conf) &&
      conf.v2BucketingEnabled && isExact(conf)

  private def isExact(conf: SQLConf): Boolean =
    !conf.v2BucketingAllowJoinKeysSubsetOfPartitionKeys &&
      !conf.v2BucketingPartiallyClusteredDistributionEnabled && !conf.v2BucketingShuffleEnabled

  override protected def rewritten(plan: LogicalPlan): LogicalPlan =
    if (plan.isStreaming) plan
    else {
      val groups = new Groups
      plan.foreachUp {
        case join: Join                           => groups.addJoin(join)
        case a: Aggregate if exchangesManyRows(a) => groups.addAll(a.groupingExpressions, a.child)
        case w: Window                            => groups.addAll(w.partitionSpec, w.child)
        case _                                    =>
      }
      groups.outcomes match {
        case Nil      => plan
        case outcomes =>
          plan.transformDown { case relation @ TamisRelation(_) =>
            outcomes
              .find(_._1 eq relation)
              .fold(relation) { case (_, outcome) => TamisRelation.scannedFor(relation)(outcome) }
          }
      }
    }

  /** Groups of partition columns alone are few: their partial results are exchanged at no cost.
    * Partial results of DISTINCT and of further columns are many.
    */
  private def exchangesManyRows(a: Aggregate): Boolean =
    a.groupingExpressions.exists {
      case attribute: Attribute => PartitionColumn.origin(attribute, a.child, _ => false).isEmpty
      case other                => !other.foldable
    } || a.aggregateExpressions.exists(_.exists {
      case e: AggregateExpression => e.isDistinct
      case _                      => false
    })

  /** What is decided about the scans of one plan, from the bottom to the top. */
  private final class Groups {
    private val decided =
      mutable.ArrayBuffer.empty[(LogicalPlan, ScanConstraints => ScanConstraints)]
    private val columnsOf = mutable.ArrayBuffer.empty[(LogicalPlan, Seq[String])]
    private val joins = mutable.ArrayBuffer.empty[Join]

    def outcomes: Seq[(LogicalPlan, ScanConstraints => ScanConstraints)] = decided.toSeq

    private def origin(key: Expression, plan: LogicalPlan): Option[PartitionColumn] = key match {
      case a: Attribute => PartitionColumn.origin(a, plan, j => joins.exists(_ eq j))
      case _            => None
    }

    /** One operator with one child, which needs rows with equal keys in one task. */
    def addAll(keys: Seq[Expression], child: LogicalPlan): Unit = {
      val found = keys.flatMap(origin(_, child)).groupBy(_.scan.relation).values
      found.headOption.foreach(columns => group(Seq(columns)))
    }

    def addJoin(join: Join): Unit = join match {
      case ExtractEquiJoinKeys(_, leftKeys, rightKeys, _, _, left, right, _)
          if BroadcastEstimate.sides(join) == (false, false) =>
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
        if (ofOneScanEach.nonEmpty && areEnough) {
          val (l, r) = ofOneScanEach.unzip
          if (group(Seq(l, r))) joins += join
        }
      case _ =>
    }

    /** Groups these scans, each by its columns, if that pays and agrees with earlier decisions. */
    private def group(sides: Seq[Seq[PartitionColumn]]): Boolean = {
      val wanted = sides.map(columns => columns.head.scan -> columns.map(_.name))
      val known = wanted.map { case (scan, names) =>
        columnsOf.find(_._1 eq scan.relation).map(_._2 == names)
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
          wanted.zip(known).foreach { case ((scan, names), isKnown) =>
            if (isKnown.isEmpty) decide(scan.relation, names, refusal)
          }
          refusal.isEmpty
        }
      }
    }

    private def decide(relation: LogicalPlan, names: Seq[String], refusal: Option[Reason]): Unit = {
      val outcome = refusal.toLeft(names)
      if (outcome.isRight) columnsOf += relation -> names
      decided += relation -> (_.grouped(outcome, ScanGoal.Groups(names)))
    }
  }
}
