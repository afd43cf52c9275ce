package io.tamis.rules.partitions

import io.tamis.rules.joins.BroadcastEstimate
import io.tamis.rules.relations.FilteredRelation
import io.tamis.wire.TypeSets
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._

/** A partition column of a scan of Parquet files. */
final case class PartitionColumn(scan: FilteredRelation, name: String)

object PartitionColumn {

  /** The partition column whose values this attribute has, if the rows of the plan are in the tasks
    * in which the scan has read them: there is no exchange between the scan and the plan. None also
    * if a value of the plan depends on the task, such as `rand()` does.
    *
    * @param withoutExchange
    *   whether a join is known to need none
    */
  def origin(
      attribute: Attribute,
      plan: LogicalPlan,
      withoutExchange: Join => Boolean
  ): Option[PartitionColumn] = {
    def below(a: Attribute, child: LogicalPlan) = origin(a, child, withoutExchange)
    plan match {
      case _ if !plan.expressions.forall(_.deterministic) => None
      case FilteredRelation(scan)                         => of(attribute, scan)
      case Project(list, child) => named(attribute, list).flatMap(below(_, child))
      case Filter(_, child)     => below(attribute, child)
      case generate: Generate   => below(attribute, generate.child)
      case join: Join           =>
        val (isLeft, isRight) = staying(join, withoutExchange)
        if (isLeft && join.left.outputSet.contains(attribute)) below(attribute, join.left)
        else if (isRight && join.right.outputSet.contains(attribute)) below(attribute, join.right)
        else None
      // it exchanges rows by its own keys, unless these contain the column
      case a: Aggregate =>
        named(attribute, a.aggregateExpressions)
          .filter(contains(a.groupingExpressions, _))
          .flatMap(below(_, a.child))
      case w: Window if contains(w.partitionSpec, attribute) => below(attribute, w.child)
      case _                                                 => None
    }
  }

  /** Whether the rows of the left side, and whether those of the right side, stay in their tasks:
    * if the other side is broadcast, or neither side is exchanged. A row that an outer join extends
    * with NULLs is in the task of the row that it extends, whatever its own columns would be.
    */
  private def staying(join: Join, withoutExchange: Join => Boolean): (Boolean, Boolean) = {
    val (leftMoves, rightMoves) =
      if (withoutExchange(join)) (true, true) else BroadcastEstimate.sides(join)
    join.joinType match {
      case _: InnerLike                    => (rightMoves, leftMoves)
      case LeftOuter | LeftSemi | LeftAnti => (rightMoves, false)
      case RightOuter                      => (false, leftMoves)
      case _                               => (false, false)
    }
  }

  private def of(attribute: Attribute, scan: FilteredRelation): Option[PartitionColumn] = {
    val schema = scan.table.relation.partitionSchema
    val isOne = !scan.table.isReadByFormat && !scan.table.purpose.inRecursion &&
      scan.relation.outputSet.contains(attribute) &&
      schema.exists(f => f.name == attribute.name && TypeSets.areEqualAsInScala(f.dataType)) &&
      schema.fieldNames.count(_ == attribute.name) == 1
    Option.when(isOne)(PartitionColumn(scan, attribute.name))
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
