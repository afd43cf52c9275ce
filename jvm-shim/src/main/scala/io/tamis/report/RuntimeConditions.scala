package io.tamis.report

import io.tamis.runtime.{Awaited, KeyMembership, RuntimeCondition, RuntimeFilterExec}
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.InSubqueryExec
import org.apache.spark.sql.types.DataType

/** A predicate whose value is known only when the query runs.
  *
  * @param prunes
  *   true if the scan receives the value and rules out files by it. Otherwise the predicate is
  *   applied to the rows only: as far as statistics show, single values lie in many of the files.
  */
final case class KnownWhenRun(sql: String, prunes: Boolean)

/** Collects the predicates of a scan whose values are known only when the query runs, as SQL for
  * people. They have one form before the query runs, and another once adaptive execution has
  * planned them.
  */
private[report] object RuntimeConditions {

  /** Returns the predicates of one scan.
    *
    * @param filters
    *   what Spark hands to the scan at run time
    * @param above
    *   the condition of the filter directly above the scan
    */
  def of(filters: Seq[Expression], above: Option[Expression]): Seq[KnownWhenRun] = {
    val handed = filters.flatMap(conditionOf).distinct
    val others = above.toSeq
      .flatMap(ExpressionWriter.conjuncts)
      .filter(_.exists(_.isInstanceOf[PlanExpression[_]]))
      .map(text)
      .distinct
    handed.map(KnownWhenRun(_, prunes = true)) ++
      others.filterNot(handed.contains).map(KnownWhenRun(_, prunes = false))
  }

  private def conditionOf(filter: Expression): Option[String] = filter match {
    case DynamicPruningExpression(child) => conditionOf(child)
    case RuntimeCondition(condition)     => Some(text(condition))
    case in: RuntimeFilterExec           => Some(text(in.condition))
    case in: InSubqueryExec              => Some(isKey(in.child))
    case d: DynamicPruningSubquery       => Some(isKey(d.pruningKey))
    case Literal.TrueLiteral             => None // the filter was dropped, so no value will arrive
    case other                           => Some(text(other))
  }

  private def isKey(column: Expression): String =
    s"(${ExpressionWriter.sqlOf(column)} IN (keys of the join))"

  private def text(condition: Expression): String =
    ExpressionWriter.sqlOf(condition.transformDown {
      case KeyMembership(key, _) => Sql(isKey(key), condition.dataType)
      case a: Awaited            => Sql("(SELECT …)", a.dataType)
      case s: PlanExpression[_]  => Sql("(SELECT …)", s.dataType)
    })

  /** Part of an expression that is shown as this text. */
  private final case class Sql(override val sql: String, dataType: DataType)
      extends LeafExpression
      with Unevaluable {
    override def nullable: Boolean = true
  }
}
