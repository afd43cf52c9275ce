package io.tamis.rules.filters

import io.tamis.bridge.StartWait
import io.tamis.conf.{Mode, TamisConf}
import io.tamis.planning.ReadingTime
import io.tamis.rules.goals.GoalRule
import io.tamis.rules.relations.{Eligibility, FileRelation, OtherSource}
import io.tamis.wire.{ExpressionWriter, ImpliedRange}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.internal.SQLConf

/** Adds the ranges of columns that a filter implies to filters over sources that tamis does not
  * scan, for the source's own push-down: `year(ts) = 1995` becomes `year(ts) = 1995 AND ts >= … AND
  * ts <= …`.
  *
  * A row for which the filter is true satisfies the ranges too (tamis.plan.ranges.implied has the
  * proof), and a row for which it is not true is dropped anyway. This applies only to filters: an
  * outer join keeps rows for which its condition is not true.
  *
  * Pre-CBO, after [[UseTamisTables]]: filters lie directly on their relations, and
  * V2ScanRelationPushDown and the planner's V1 strategies come later. The ranges come last in the
  * condition, so that rows that are read raise the same errors as without them.
  */
object AddImpliedFilters extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean =
    TamisConf.mode(conf) == Mode.Apply && TamisConf.impliedFiltersEnabled(conf)

  /** Whether filters over a relation of a plan get the ranges that they imply. */
  def ranges(plan: LogicalPlan, relation: LogicalPlan): Boolean =
    isAsked && mayChange(plan) && OtherSource.unapply(relation).exists(_.isRanged)

  private def mayChange(plan: LogicalPlan): Boolean =
    !plan.isStreaming && !Eligibility.isRowLevelWrite(plan)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan =
    if (!mayChange(plan)) plan
    else
      plan.transformDown {
        // rand(42) would give other numbers to the rows after one that is skipped
        case filter: Filter if filter.condition.deterministic => ranged(filter)
      }

  private def ranged(filter: Filter): Filter = filter.child match {
    case OtherSource(source) =>
      val conjuncts = ExpressionWriter.conjuncts(filter.condition)
      val added =
        implied(conjuncts, source, startWait(filter.child)).filterNot(a =>
          conjuncts.exists(_.semanticEquals(a))
        )
      if (added.isEmpty) filter
      else filter.copy(condition = added.foldLeft(filter.condition)(And(_, _)))
    case _ => filter
  }

  private def implied(
      conjuncts: Seq[Expression],
      source: OtherSource,
      startWait: StartWait
  ): Seq[Expression] =
    if (!conjuncts.exists(isWorthAsking(_, source))) Nil
    else
      ImpliedQuestion
        .ask(conjuncts, source.schema, conf, startWait)
        .filter(isOf(source))
        .flatMap { range =>
          if (source.comparesAsSpark) range.conjuncts else range.widened.toSeq.flatMap(_.conjuncts)
        }

  /** In full for a source whose size is not known without a request to it. */
  private def startWait(source: LogicalPlan): StartWait = source match {
    case FileRelation(_, files) =>
      files.location match {
        case index: PartitioningAwareFileIndex =>
          StartWait.atMost(
            ReadingTime.millis(index.allFiles().size.toLong, index.sizeInBytes, conf)
          )
        case _ => StartWait.Full
      }
    case _ => StartWait.Full
  }

  private def isOf(source: OtherSource)(range: ImpliedRange): Boolean =
    range.column.references.forall(source.canRange)

  /** The planner decides what follows from a condition (tamis.plan.ranges.implied). But a question
    * costs a round trip, and most conditions contain no function: the planner derives nothing from
    * them, because the source gets them anyway. tests/spark/test_implied_filters.py compares both.
    */
  private def isWorthAsking(conjunct: Expression, source: OtherSource): Boolean =
    hasFunction(conjunct) && conjunct.references.exists(source.canRange)

  private def hasFunction(e: Expression): Boolean = e match {
    case _: Literal | ExpressionWriter.ColumnPath(_)        => false
    case _: And | _: Or | _: Not | _: IsNull | _: IsNotNull => e.children.exists(hasFunction)
    case _: BinaryComparison | _: In | _: StringPredicate   => e.children.exists(hasFunction)
    case InSet(child, _)                                    => hasFunction(child)
    case _: SubqueryExpression | _: DynamicPruning          => false // nothing follows from it
    case _                                                  => true
  }
}
