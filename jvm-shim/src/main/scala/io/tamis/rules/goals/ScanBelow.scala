package io.tamis.rules.goals

import io.tamis.planning.{FileSelection, ScanConstraints, ScanGoal, ScanPlanner}
import io.tamis.rules.filters.PlainConjuncts
import io.tamis.rules.relations.{FilteredRelation, TamisRelation}
import io.tamis.runtime.SampledBoundary
import io.tamis.scan.TamisTable
import io.tamis.wire.{Goal, Reason}
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeReference,
  ExprId,
  Expression
}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}

/** One scan of tamis under projections, with at most one filter, which lies directly on the scan.
  *
  * The conjuncts of that filter alone decide which rows of the files are returned, and they are
  * what Spark hands to the scan's builder. A conjunct that is not deterministic or has a subquery
  * is not handed over, so a plan with one does not match.
  *
  * @param outputs
  *   each attribute of the top plan, as an expression over the attributes of the relation
  */
final case class ScanBelow(
    relation: LogicalPlan,
    table: TamisTable,
    conjuncts: Seq[Expression],
    outputs: Map[ExprId, Expression]
) {

  /** An expression of the top plan, over the attributes of the relation. */
  def atScan(e: Expression): Expression = e.transform { case a: Attribute =>
    outputs.getOrElse(a.exprId, a)
  }

  /** The plan, which contains this scan, with the scan confined to the files that serve a goal. */
  def withFiles(plan: LogicalPlan, goal: ScanGoal, question: Goal): LogicalPlan =
    scannedFor(plan, goal, ScanPlanner.filesFor(table, conjuncts, question))

  /** The plan with the scan confined to these files; Left: to the same files as before. */
  def scannedFor(
      plan: LogicalPlan,
      goal: ScanGoal,
      files: Either[Reason, FileSelection],
      boundary: Option[SampledBoundary] = None
  ): LogicalPlan = ScanBelow.replaced(plan, relation) { purpose =>
    purpose.confined(goal, files).bounded(boundary.orElse(purpose.boundary))
  }
}

object ScanBelow {

  /** The plan, which contains this relation, with the scan for another purpose. */
  def replaced(plan: LogicalPlan, relation: LogicalPlan)(
      purpose: ScanConstraints => ScanConstraints
  ): LogicalPlan = {
    val scanned = TamisRelation.scannedFor(relation)(purpose)
    plan.transformDown { case r if r eq relation => scanned }
  }

  /** The expression over columns of the scan without attribute ids, so that two scans of one table
    * are equal wherever they are in the plan.
    */
  def byName(e: Expression): Expression =
    e.transform { case a: AttributeReference => a.withExprId(ExprId(0)).withQualifier(Nil) }

  def unapply(plan: LogicalPlan): Option[ScanBelow] = plan match {
    case Project(list, child) if list.forall(PlainConjuncts.isPlain) =>
      unapply(child).map { below =>
        val outputs = list.map {
          case a: Alias => a.exprId -> below.atScan(a.child)
          case other    => other.exprId -> below.atScan(other)
        }
        below.copy(outputs = outputs.toMap)
      }
    case FilteredRelation(scan) if scan.condition.forall(PlainConjuncts.isPlain) =>
      val outputs = scan.relation.output.map(a => a.exprId -> (a: Expression)).toMap
      Some(ScanBelow(scan.relation, scan.table, scan.conjuncts, outputs))
    case _ => None
  }
}
