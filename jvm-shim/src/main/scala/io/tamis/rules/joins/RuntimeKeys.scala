package io.tamis.rules.joins

import io.tamis.planning.{Clustering, ScanPlanner, SeemsSelective}
import io.tamis.rules.{OptimizedSubquery, RowOrder}
import io.tamis.rules.relations.{FileRelation, FilteredRelation, TamisRelation, TamisScanRelation}
import io.tamis.runtime.{KeyMembership, RuntimeCondition, RuntimeValues}
import io.tamis.scan.TamisTable
import io.tamis.wire.{ExpressionWriter, TypeSets}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.dsl.plans._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Filter,
  Join,
  LocalRelation,
  LogicalPlan,
  Project,
  Union
}
import org.apache.spark.sql.internal.SQLConf

/** Computes the keys of one side of a join in a subquery before the other side is read.
  *
  * If the side is broadcast for the join, Spark's own dynamic pruning takes the keys from there,
  * and nothing is added. Otherwise the side is read twice, so this is done only if the side is
  * small compared with what it prunes.
  */
object RuntimeKeys {

  /** Minimum ratio of the bytes that the pruned side reads to the bytes that the keys cost. */
  private[rules] val Gain = 2

  /** Returns `to` with conditions on its scans: their keys must be among the keys of `from`.
    * Returns `to` itself if no condition pays off.
    *
    * @param keys
    *   keys of `from`, and the keys of `to` that they are equal to
    * @param mayBroadcast
    *   whether Spark may broadcast `from` for this join: never the side that keeps its rows
    */
  def of(
      from: LogicalPlan,
      to: LogicalPlan,
      keys: Seq[(Expression, Expression)],
      mayBroadcast: Boolean
  ): LogicalPlan =
    if (from.isStreaming || !isSelective(from) || !isRepeatable(from)) to
    else if (mayBroadcast && mostBytesOf(from).exists(comesWithBroadcast(from, _))) to
    else {
      // requests about `from` come first, then those about every scan of `to`
      val useful = keys.filter { case (_, toKey) =>
        KeyLineage.below(toKey, to)(scanAt).exists(isClustered)
      }
      val cost = if (useful.isEmpty) None else bytesOf(from)
      cost.filterNot(mayBroadcast && comesWithBroadcast(from, _)).fold(to) { cost =>
        useful.foldLeft(to) { case (plan, (fromKey, toKey)) =>
          onScans(toKey, plan)(pays(_, cost)) { scan =>
            KeyMembership(scan.key, listOf(scan.table.session, fromKey, from))
          }
        }
      }
    }

  private final case class KeyedScan(key: Expression, scan: FilteredRelation) {
    def table: TamisTable = scan.table
    def conjuncts: Seq[Expression] = scan.conjuncts
  }

  /** The scan at this plan, if it can receive run-time values. A scan that was already built
    * cannot.
    */
  private def scanAt(key: Expression, plan: LogicalPlan): Option[KeyedScan] =
    FilteredRelation.unapply(plan).filterNot(_.table.purpose.inRecursion).map(KeyedScan(key, _))

  private def isClustered(scan: KeyedScan): Boolean =
    ScanPlanner.hasChoice(scan.table, scan.conjuncts) &&
      Clustering.of(scan.table, scan.conjuncts, Seq(scan.key)).contains(true)

  /** Adds a condition to each scan for which it pays off. A scan that has one for this key already
    * keeps it.
    */
  private def onScans(key: Expression, plan: LogicalPlan)(
      pays: KeyedScan => Boolean
  )(condition: KeyedScan => Expression): LogicalPlan =
    KeyLineage.changedBelow(key, plan) { (key, plan) =>
      scanAt(key, plan).map { at =>
        val predicate = at.scan.condition
        val has = predicate.exists(_.exists {
          case KeyMembership(k, _) => k == key
          case _                   => false
        })
        if (has || !at.scan.isRepeatable || !pays(at)) plan
        else {
          val added = RuntimeCondition(condition(at))
          Filter(predicate.fold[Expression](added)(And(_, added)), at.scan.relation)
        }
      }
    }

  private def pays(scan: KeyedScan, cost: Long): Boolean =
    ScanPlanner.survivors(scan.table, scan.conjuncts).exists { kept =>
      kept.count > 1 && kept.bytes > Gain * cost && isClustered(scan)
    }

  /** A subquery for the distinct keys, limited to one more than a scan accepts. */
  private def listOf(session: SparkSession, key: Expression, plan: LogicalPlan): Expression = {
    val named = Alias(key, "key")()
    val column = named.toAttribute
    val keys = Project(Seq(named), Filter(IsNotNull(key), plan))
    val distinct = keys.groupBy(column)(column).limit(Literal(RuntimeValues.Most + 1))
    val list = Alias(new CollectList(column).toAggregateExpression(), "keys")()
    OptimizedSubquery(session, distinct.groupBy()(list))
  }

  /** Whether Spark's dynamic pruning will take the keys from a broadcast. Spark broadcasts a side
    * depending on the bytes of its files, and prunes by what it broadcasts if it finds a filter
    * that it considers selective. If Spark prunes after all although this returns false, the keys
    * are computed twice, without any other effect.
    */
  private def comesWithBroadcast(from: LogicalPlan, bytes: Long): Boolean = {
    val conf = SQLConf.get
    conf.dynamicPartitionPruningEnabled && conf.exchangeReuseEnabled &&
    bytes <= conf.autoBroadcastJoinThreshold && from.exists {
      case Filter(condition, _) => SeemsSelective(condition)
      case _                    => false
    }
  }

  /** Whether some rows are filtered out: otherwise every foreign key finds its match. */
  private def isSelective(plan: LogicalPlan): Boolean = plan.exists {
    case Filter(condition, _) =>
      ExpressionWriter.conjuncts(condition).exists {
        case IsNotNull(_) | RuntimeCondition(_) => false
        case _                                  => true
      }
    case TamisScanRelation(scan) =>
      scan.decision.conjuncts.exists(!_.expression.isInstanceOf[IsNotNull])
    case _: LocalRelation => true
    case _                => false
  }

  /** Whether two runs give the same rows: no LIMIT, nothing random, no user code, no sums whose
    * last digits depend on the order of rows, no aggregate whose value does. Catalyst calls the
    * latter deterministic, such as `first`, which also evaluates `dropDuplicates`. Plans that cost
    * much more than reading their files do not qualify either.
    */
  def isRepeatable(plan: LogicalPlan): Boolean = !plan.exists {
    case node if !node.expressions.forall(isRepeatable) => true
    // of equal values that differ, such as -0.0 and 0.0, or a and A under a collation, any is kept
    case groups: Aggregate
        if !groups.output.forall(a => TypeSets.areIdenticalIfEqual(a.dataType)) =>
      true
    case TamisRelation(_) | TamisScanRelation(_) | FileRelation(_, _) => false
    case _: LocalRelation                                             => false
    case _: Project | _: Filter | _: Join | _: Union | _: Aggregate   => false
    case _                                                            => true
  }

  private def isRepeatable(e: Expression): Boolean = e.deterministic && !e.exists {
    case _: SubqueryExpression | _: UserDefinedExpression => true
    case random if ExpressionWriter.isRandom(random)      => true
    case a: AggregateExpression                           =>
      !RowOrder.isFree(a.aggregateFunction) ||
      (a +: a.references.toSeq).exists(e => TypeSets.isFloating(e.dataType))
    case _ => false
  }

  /** The bytes of all files that the plan reads; None if it reads anything else. */
  def bytesOf(plan: LogicalPlan): Option[Long] = bytes(plan) { scan =>
    ScanPlanner.survivors(scan.table, scan.conjuncts).map(_.bytes)
  }

  /** The same if filters rule out no file, which is known without a question. */
  private def mostBytesOf(plan: LogicalPlan): Option[Long] = bytes(plan) { scan =>
    Some(scan.table.purpose.within.fold(scan.table.relation.sizeInBytes)(_.bytes))
  }

  private def bytes(
      plan: LogicalPlan
  )(ofScan: FilteredRelation => Option[Long]): Option[Long] = plan match {
    case FilteredRelation(scan)           => ofScan(scan)
    case TamisScanRelation(scan)          => Some(scan.decision.kept.bytes)
    case _: LocalRelation                 => Some(0L)
    case other if other.children.nonEmpty =>
      other.children.map(bytes(_)(ofScan)).reduce((a, b) => for { x <- a; y <- b } yield x + y)
    case _ => None
  }
}
