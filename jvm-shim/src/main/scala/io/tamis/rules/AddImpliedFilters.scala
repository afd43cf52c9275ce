package io.tamis.rules

import io.tamis.conf.TamisConf
import io.tamis.wire.{ExpressionWriter, ImpliedRange}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf

/** Adds, to a filter over a source that tamis does not scan, the ranges of columns that it implies,
  * for the source's own push-down to use: `year(ts) = 1995` becomes `year(ts) = 1995 AND ts >= …
  * AND ts <= …`.
  *
  * A row of which the filter is true passes the ranges too (tamis.plan.implied has the proof), and
  * a row of which it is not is dropped as before. Filters only: the condition of an outer join
  * keeps rows of which it is not true.
  *
  * Pre-CBO, after [[UseTamisTables]]: filters sit on their relations, and V2ScanRelationPushDown
  * and the planner's V1 strategies come later. The ranges stand last, so that on the rows that are
  * read errors come as they would without.
  */
object AddImpliedFilters extends GoalRule {
  override val ruleName: String = "io.tamis.rules.AddImpliedFilters"
  override protected def isOn(conf: SQLConf): Boolean =
    TamisConf.mode(conf) == "apply" && TamisConf.impliedFilters(conf)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan =
    if (plan.isStreaming || Eligibility.isRowLevelWrite(plan)) plan
    else
      plan.transformDown {
        // rand(42) would give other numbers to the rows after one that is skipped
        case filter: Filter if filter.condition.deterministic => ranged(filter)
      }

  private def ranged(filter: Filter): Filter = filter.child match {
    case OtherSource(source) =>
      val told = ExpressionWriter.conjuncts(filter.condition)
      val added = implied(told, source).filterNot(a => told.exists(_.semanticEquals(a)))
      if (added.isEmpty) filter
      else filter.copy(condition = added.foldLeft(filter.condition)(And(_, _)))
    case _ => filter
  }

  private def implied(told: Seq[Expression], source: OtherSource): Seq[Expression] =
    if (!told.exists(isWorthAsking(_, source))) Nil
    else
      ImpliedQuestion.ask(told, source.schema, conf).filter(isOf(source)).flatMap { range =>
        if (source.comparesAsSpark) range.conjuncts else range.widened.toSeq.flatMap(_.conjuncts)
      }

  private def isOf(source: OtherSource)(range: ImpliedRange): Boolean =
    range.column.references.forall(source.canRange)

  /** Most conditions have no function in them: nothing follows that the source is not told. */
  private def isWorthAsking(conjunct: Expression, source: OtherSource): Boolean =
    !isSargable(conjunct) && conjunct.references.exists(source.canRange)

  private def isSargable(e: Expression): Boolean = e match {
    case _: Literal | ExpressionWriter.ColumnPath(_)        => true
    case _: And | _: Or | _: Not | _: IsNull | _: IsNotNull => e.children.forall(isSargable)
    case _: BinaryComparison | _: In | _: StringPredicate   => e.children.forall(isSargable)
    case InSet(child, _)                                    => isSargable(child)
    case _: SubqueryExpression | _: DynamicPruning          => true // nothing to learn from it
    case _                                                  => false
  }
}
