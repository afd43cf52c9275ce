package io.tamis.rules.joins

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.listing.PartitionPredicate
import io.tamis.planning.Clustering
import io.tamis.rules.filters.PlainConjuncts
import io.tamis.rules.goals.GoalRule
import io.tamis.rules.relations.TamisRelation
import io.tamis.runtime.RuntimeCondition
import io.tamis.scan.TamisTable
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.{
  And,
  Expression,
  ScalarSubquery,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.plans.{InnerLike, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf

/** Gives scans conditions whose values are known when the query runs. What they rule out is not
  * read; every filter and every join stays.
  *
  *   - `k > (SELECT …)`: a row that the filter drops does not have to be read. The subquery is the
  *     same one, and runs once.
  *   - l.k = r.k in a join: the keys of r, if no broadcast of r provides them (RuntimeKeys).
  *     PruneForJoins proves where rows without a match may be left out.
  *
  * It applies only where single values lie in few files: otherwise nothing is ruled out. Partitions
  * are ruled out by a scalar subquery whatever the settings of tamis, as in Spark's own scan.
  */
object PruneAtRunTime extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean = true

  private def prunesFiles: Boolean =
    TamisConf.runtimeFiltersEnabled(conf) && TamisConf.mode(conf) == Mode.Apply

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = {
    val joined =
      if (prunesFiles && TamisConf.joinsEnabled(conf)) plan.transformUp(keysOfJoins) else plan
    joined.transformUp(scalarSubqueries)
  }

  private val scalarSubqueries: PartialFunction[LogicalPlan, LogicalPlan] = {
    case filter @ Filter(condition, TamisRelation(table))
        if SubqueryExpression.hasSubquery(condition) && condition.deterministic &&
          !table.purpose.inRecursion =>
      val conjuncts = ExpressionWriter.conjuncts(condition)
      val added = conjuncts
        .filter(SubqueryExpression.hasSubquery)
        .flatMap(conditionOf(table, PlainConjuncts.of(condition), _))
        .filterNot(hasCondition(conjuncts, _))
      if (added.isEmpty) filter
      else filter.copy(condition = added.map(RuntimeCondition(_)).foldLeft(condition)(And(_, _)))
  }

  /** What the scan receives for a conjunct: the conjunct itself, or only what it implies of
    * partition values.
    */
  private def conditionOf(
      table: TamisTable,
      filters: Seq[Expression],
      conjunct: Expression
  ): Option[Expression] = {
    val partitions = table.relation.partitionSchema
    val names = partitions.fieldNames.toSet
    def isOfPartitions(e: Expression) = e.references.forall(a => names(a.name)) &&
      (PartitionPredicate.isPartitionOnly(e, partitions) || awaitsOneValue(e))
    val ofPartitions = PartitionPredicate.impliedBy(conjunct, isOfPartitions(_))
    if (
      !ofPartitions.contains(conjunct) && awaitsOneValue(conjunct) && pays(table, filters, conjunct)
    )
      Some(conjunct)
    else ofPartitions.filter(awaitsOneValue)
  }

  private def hasCondition(conjuncts: Seq[Expression], conjunct: Expression): Boolean =
    conjuncts.exists {
      case RuntimeCondition(child) => child == conjunct
      case _                       => false
    }

  /** Whether the expression is a function of columns and of the value of one uncorrelated subquery.
    */
  private def awaitsOneValue(e: Expression): Boolean = {
    val values = e.collect { case s: ScalarSubquery => s }
    val isOne = values.map(_.plan.canonicalized).distinct.size == 1
    // without adaptive execution, the subquery of the condition may be computed by itself
    val isSame =
      conf.adaptiveExecutionEnabled || values.forall(s => RuntimeKeys.isRepeatable(s.plan))
    isOne && isSame && values.forall(
      _.children.isEmpty
    ) && e.references.nonEmpty && e.deterministic &&
    !e.exists {
      case _: ScalarSubquery => false
      case part              => !ExpressionWriter.isPlain(part)
    }
  }

  private def pays(table: TamisTable, filters: Seq[Expression], conjunct: Expression): Boolean =
    prunesFiles && conf.subqueryReuseEnabled && {
      val partitions = table.relation.partitionSchema.fieldNames.toSet
      val columns = conjunct.references.toSeq
      columns.exists(a => partitions(a.name)) ||
      Clustering.of(table, filters, columns).contains(true)
    }

  private val keysOfJoins: PartialFunction[LogicalPlan, LogicalPlan] = {
    case join: Join if join.condition.nonEmpty && JoinSides.of(join).any =>
      val sides = JoinSides.of(join)
      val keys = JoinKeys.of(join)
      val inner = join.joinType.isInstanceOf[InnerLike]
      val right =
        if (sides.right) RuntimeKeys.of(join.left, join.right, keys, mayBroadcast = inner)
        else join.right
      val left =
        if (sides.left && (right eq join.right)) {
          val mayBroadcast = inner || join.joinType == LeftSemi
          RuntimeKeys.of(right, join.left, keys.map(_.swap), mayBroadcast)
        } else join.left
      if ((left eq join.left) && (right eq join.right)) join
      else join.withNewChildren(Seq(left, right))
    case filter @ Filter(condition, child)
        if SubqueryExpression.hasInOrCorrelatedExistsSubquery(condition) &&
          condition.deterministic =>
      // run-time conditions of an earlier run belong to the scan: RuntimeKeys must see the ones
      // that it has
      val conjuncts = ExpressionWriter.conjuncts(condition)
      val (ofScan, others) = conjuncts.partition { c =>
        PlainConjuncts.isPlain(c) || c.isInstanceOf[RuntimeCondition]
      }
      val filtered = PlainConjuncts.filtered(ofScan, child)
      val left = conjuncts.foldLeft(filtered) { (left, conjunct) =>
        SubqueryJoin.of(conjunct, left).filter(_.sides.left).fold(left) { join =>
          RuntimeKeys.of(join.plan, left, join.keys.map(_.swap), mayBroadcast = true)
        }
      }
      (left, filtered) match {
        case _ if left eq filtered => filter
        // keep the order in which the conjuncts are written
        case (Filter(a, below), Filter(b, _)) if a == b => Filter(condition, below)
        // the conditions that were added may be in the filter that `filtered` has
        case _ => others.reduceOption[Expression](And(_, _)).fold(left)(above(_, left))
      }
  }

  /** Merges a condition into the filter on the scan: Spark hands only the first filter to it. */
  private def above(condition: Expression, plan: LogicalPlan): LogicalPlan = plan match {
    case Filter(below, child) => Filter(And(below, condition), child)
    case other                => Filter(condition, other)
  }
}
