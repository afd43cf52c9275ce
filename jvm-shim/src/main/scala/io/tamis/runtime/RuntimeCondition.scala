package io.tamis.runtime

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodegenFallback, ExprCode}
import org.apache.spark.sql.catalyst.trees.TreePattern.{DYNAMIC_PRUNING_EXPRESSION, TreePattern}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.{BaseSubqueryExec, InSubqueryExec}
import org.apache.spark.sql.types.DataType

/** A predicate over columns of a scan and a scalar subquery, whose value the scan receives once the
  * subquery has run. It is redundant: every row that affects the result satisfies it anyway.
  *
  * It is a DynamicPruning because Spark keeps these above the scan and hands them to BatchScanExec,
  * which waits for the subquery before it plans its tasks.
  */
final case class RuntimeCondition(child: Expression) extends UnaryExpression with DynamicPruning {
  override def eval(input: InternalRow): Any = child.eval(input)
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = child.genCode(ctx)
  override protected def withNewChildInternal(newChild: Expression): RuntimeCondition =
    copy(child = newChild)
  override val nodePatterns: Seq[TreePattern] = Seq(DYNAMIC_PRUNING_EXPRESSION)
}

/** A predicate that holds for every row that affects the result. It only serves to skip files, and
  * evaluates to true for every row.
  */
trait ServesFiles extends Predicate with CodegenFallback {
  override def nullable: Boolean = false
  override def eval(input: InternalRow): Any = true
}

/** States that `key` may be one of `keys`. */
final case class KeyMembership(key: Expression, keys: Expression)
    extends BinaryExpression
    with ServesFiles {
  override def left: Expression = key
  override def right: Expression = keys
  override protected def withNewChildrenInternal(l: Expression, r: Expression): KeyMembership =
    copy(key = l, keys = r)
}

/** Placeholder for the rows of a subquery: its single value, or all values of its column. */
final case class Awaited(dataType: DataType, isList: Boolean)
    extends LeafExpression
    with Unevaluable {
  override def nullable: Boolean = true
}

/** What a scan receives at run time: a condition and the rows of its subquery. */
final class RuntimeFilter(condition: Expression, rows: Array[Any]) {

  /** The condition over columns alone; None if it cannot rule files out. */
  def predicate: Option[Expression] =
    try {
      val filled = condition.transformUp {
        case Awaited(t, false) if rows.length <= 1     => Literal(rows.headOption.orNull, t)
        case KeyMembership(key, Awaited(_, true))      => RuntimeValues.in(key, rows.toSeq)
        case KeyMembership(key, keys) if keys.foldable => listed(key, keys.eval())
      }
      val folded = filled.transformUp {
        case e if e.foldable && !e.isInstanceOf[Literal] => Literal.create(e.eval(), e.dataType)
      }
      Some(folded).filterNot(_.exists(_.isInstanceOf[Awaited])).filter(_.references.nonEmpty)
    } catch { case NonFatal(_) => None } // the operator that needs the value raises the error

  private def listed(key: Expression, keys: Any): Expression = keys match {
    case array: ArrayData => RuntimeValues.in(key, array.toSeq[Any](key.dataType))
    case _                => Literal.TrueLiteral
  }
}

object RuntimeValues {

  /** Sending a longer list takes longer than most scans. */
  val Most = 100000

  /** True for the rows whose key is one of the values; true for every row if there are too many
    * values.
    */
  def in(key: Expression, values: Seq[Any]): Expression = {
    val known = values.filter(_ != null)
    if (known.size > Most) Literal.TrueLiteral
    else if (known.isEmpty) Literal.FalseLiteral
    else {
      val ordering = RowOrdering.createNaturalAscendingOrdering(Seq(key.dataType))
      val sorted = known.distinct.map(InternalRow(_)).sorted(ordering)
      In(key, sorted.map(row => Literal(row.get(0, key.dataType), key.dataType)))
    }
  }
}

/** An IN with a subquery that Spark waits for and then asks for its values. It hands on to the scan
  * the condition together with these values (`RuntimeFilter`).
  *
  * It is a subclass because BatchScanExec hands nothing but IN over a plain column to a scan at run
  * time (seen on 4.0 to 4.3).
  *
  * @param column
  *   any column of the condition
  * @param condition
  *   over columns by name, with [[Awaited]] for the subquery
  */
final class RuntimeFilterExec(
    column: Expression,
    subquery: BaseSubqueryExec,
    id: ExprId,
    val condition: Expression
) extends InSubqueryExec(column, subquery, id) {

  @transient private var rows: Option[Array[Any]] = None

  /** Does not fail if the subquery fails: the operator that needs its value fails. */
  override def updateResult(): Unit =
    rows =
      try {
        val dataType = plan.output.head.dataType
        Some(plan.executeCollect().map(_.get(0, dataType)))
      } catch { case NonFatal(_) => None }

  /** Never empty: Spark would hand on an IN without values, which no partition value satisfies. */
  override def values(): Option[Array[Any]] = {
    def unknown = new RuntimeFilter(Literal.TrueLiteral, Array.empty)
    Some(Array(rows.fold(unknown)(new RuntimeFilter(condition, _))))
  }

  override def withNewPlan(plan: BaseSubqueryExec): InSubqueryExec =
    new RuntimeFilterExec(child, plan, exprId, condition)
  override protected def withNewChildInternal(newChild: Expression): InSubqueryExec =
    new RuntimeFilterExec(newChild, plan, exprId, condition)
  override lazy val canonicalized: InSubqueryExec = new RuntimeFilterExec(
    child.canonicalized,
    plan.canonicalized.asInstanceOf[BaseSubqueryExec],
    ExprId(0),
    condition
  )
  override def canEqual(other: Any): Boolean = other.isInstanceOf[RuntimeFilterExec]
  override def equals(other: Any): Boolean = other match {
    case o: RuntimeFilterExec =>
      child == o.child && plan == o.plan && exprId == o.exprId && condition == o.condition
    case _ => false
  }
  override def hashCode(): Int = super.hashCode() * 31 + condition.hashCode()
  override def toString: String = s"$condition, known from subquery ${exprId.id}"
}
