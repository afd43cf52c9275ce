package io.tamis.rules.partitions

import io.tamis.rules.relations.FilteredRelation
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._

/** A column of a scan of tamis. */
final case class ScanColumn(scan: FilteredRelation, attribute: Attribute)

object ScanColumn {

  /** The column whose values this attribute has, if the rows of the plan are in the tasks in which
    * the scan has read them, without an exchange between the scan and the plan. None also if a
    * value of the plan depends on the task, such as `rand()` does.
    *
    * @param staying
    *   whether the rows of the left and of the right side of a join stay in their tasks
    */
  def origin(attribute: Attribute, plan: LogicalPlan)(
      staying: Join => (Boolean, Boolean)
  ): Option[ScanColumn] = {
    def below(a: Attribute, child: LogicalPlan) = origin(a, child)(staying)
    plan match {
      case _ if !plan.expressions.forall(_.deterministic) => None
      case FilteredRelation(scan)                         =>
        scan.relation.output.find(_.exprId == attribute.exprId).map(ScanColumn(scan, _))
      case Project(list, child) => named(attribute, list).flatMap(below(_, child))
      case Filter(_, child)     => below(attribute, child)
      case generate: Generate   => below(attribute, generate.child)
      case join: Join           =>
        val isLeft = join.left.outputSet.contains(attribute)
        // the estimates come last, because they cost most
        below(attribute, if (isLeft) join.left else join.right)
          .filter(_ => if (isLeft) keepsLeft(join.joinType) else keepsRight(join.joinType))
          .filter(_ => if (isLeft) staying(join)._1 else staying(join)._2)
      // it exchanges rows by its own keys, unless these contain the column
      case a: Aggregate =>
        named(attribute, a.aggregateExpressions)
          .filter(contains(a.groupingExpressions, _))
          .flatMap(below(_, a.child))
      case w: Window if contains(w.partitionSpec, attribute) => below(attribute, w.child)
      case _                                                 => None
    }
  }

  /** Whether each row of the join comes from a row of the left side. An outer join also has rows in
    * which the columns of a side are NULL, in the tasks of the other side's rows.
    */
  private def keepsLeft(joinType: JoinType): Boolean = joinType match {
    case _: InnerLike | LeftOuter | LeftSemi | LeftAnti => true
    case _                                              => false
  }

  private def keepsRight(joinType: JoinType): Boolean = joinType match {
    case _: InnerLike | RightOuter => true
    case _                         => false
  }

  /** The attribute that an attribute of a projection stands for. */
  private def named(attribute: Attribute, list: Seq[NamedExpression]): Option[Attribute] =
    list.collectFirst {
      case a: Attribute if a.exprId == attribute.exprId                       => a
      case alias @ Alias(a: Attribute, _) if alias.exprId == attribute.exprId => a
    }

  private def contains(keys: Seq[Expression], attribute: Attribute): Boolean =
    keys.exists(_.semanticEquals(attribute))
}
