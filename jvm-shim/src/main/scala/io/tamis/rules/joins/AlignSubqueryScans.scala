package io.tamis.rules.joins

import io.tamis.rules.goals.GoalRule
import io.tamis.rules.relations.TamisScanRelation
import io.tamis.scan.TamisScan
import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.{ScalarSubquery, UnsafeRow}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** Lets Spark merge scalar subqueries over the same files into one:
  * {{{
  *   SELECT (SELECT avg(a) FROM t WHERE k > 5), (SELECT sum(b) FROM t WHERE k > 5)
  * }}}
  * Spark merges plans whose leaves are equal. Leaves of Spark's own file sources are equal
  * whichever columns are read, but a scan of DataSource V2 contains its columns. So this rule gives
  * both scans the columns of both, below a projection to the original columns. The rows stay the
  * same.
  *
  * It changes only plans of a shape that Spark merges (MergeScalarSubqueries, since 4.2
  * MergeSubplans): in others, the additional columns would be read without benefit. Subqueries are
  * optimized before the query that contains them, so their scans are already built here.
  */
object AlignSubqueryScans extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean = true

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = plan match {
    case _: Subquery => plan
    case _           =>
      val leaves = plan
        .collectWithSubqueries { case node =>
          node.expressions.flatMap(_.collect {
            case s: ScalarSubquery if !s.isCorrelated && s.deterministic => leafOfAggregate(s.plan)
          })
        }
        .flatten
        .flatten
      val wider = new IdentityHashMap[LogicalPlan, LogicalPlan]
      leaves.groupBy(_.scan.table.relation).values.foreach(align(_, wider))
      if (wider.isEmpty) plan
      else
        plan.transformWithSubqueries { case leaf if wider.containsKey(leaf) => wider.get(leaf) }
  }

  private final case class Leaf(relation: LogicalPlan, scan: TamisScan)

  private def leafOfAggregate(plan: LogicalPlan): Option[Leaf] = plan match {
    case a: Aggregate if a.groupingExpressions.isEmpty && isHashed(a) => leafOf(a.child)
    case Project(_, child)                                            => leafOfAggregate(child)
    case _                                                            => None
  }

  private def leafOf(plan: LogicalPlan): Option[Leaf] = plan match {
    case _: Project | _: Filter             => leafOf(plan.children.head)
    case relation @ TamisScanRelation(scan) => Some(Leaf(relation, scan))
    case _                                  => None
  }

  /** Whether the aggregate is a hashed one: Spark does not merge hashed aggregates with sorted
    * ones.
    */
  private def isHashed(a: Aggregate): Boolean =
    a.aggregateExpressions
      .flatMap(_.collect { case e: AggregateExpression => e })
      .flatMap(_.aggregateFunction.aggBufferAttributes)
      .forall(buffer => UnsafeRow.isMutable(buffer.dataType))

  /** For leaves of one table: aligns those that read the same files with the same filters and
    * different columns.
    */
  private def align(leaves: Seq[Leaf], wider: IdentityHashMap[LogicalPlan, LogicalPlan]): Unit =
    leaves.groupBy(l => (l.scan.decision.kept, l.scan.decision.residualSql)).values.foreach {
      alike =>
        val required = alike.map(_.scan.required)
        if (required.distinct.size > 1)
          union(alike.head.scan.table.schema, required).foreach { columns =>
            val scans = alike.map(_.scan.reading(columns))
            if (scans.distinct.size == 1)
              alike.map(_.relation).zip(scans).foreach { case (relation, scan) =>
                val read = TamisScanRelation.scanning(relation, scan)
                wider.put(relation, Project(relation.output, read))
              }
          }
    }

  /** All columns, in the order of the table; None if two scans read different fields of a struct.
    */
  private def union(table: StructType, required: Seq[StructType]): Option[StructType] = {
    val fields = required.flatMap(_.fields).distinct
    val byName = fields.groupBy(_.name)
    if (byName.values.exists(_.size > 1)) None
    else Some(StructType(table.fieldNames.toSeq.flatMap(byName.get(_)).flatten))
  }
}
