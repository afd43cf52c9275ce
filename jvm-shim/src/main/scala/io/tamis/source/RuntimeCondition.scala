package io.tamis.source

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodegenFallback, ExprCode}
import org.apache.spark.sql.catalyst.trees.TreePattern.{DYNAMIC_PRUNING_EXPRESSION, TreePattern}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.{BaseSubqueryExec, InSubqueryExec}
import org.apache.spark.sql.types.DataType

/** A predicate over columns of a scan and a scalar subquery, which the scan is told once the
  * subquery has run. Every row that has an effect on the result passes it without it as well.
  *
  * A DynamicPruning: Spark keeps these above the scan and hands them to BatchScanExec, which waits
  * for the subquery before it plans its tasks.
  */
final case class RuntimeCondition(child: Expression) extends UnaryExpression with DynamicPruning {
  override def eval(input: InternalRow): Any = child.eval(input)
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = child.genCode(ctx)
  override protected def withNewChildInternal(newChild: Expression): RuntimeCondition =
    copy(child = newChild)
  override val nodePatterns: Seq[TreePattern] = Seq(DYNAMIC_PRUNING_EXPRESSION)
}

/** The key may be one of the keys: so much is known of every row that has an effect. To skip files
  * by, and true of any row that it is asked about.
  */
final case class InKeys(key: Expression, keys: Expression)
    extends BinaryExpression
    with Predicate
    with CodegenFallback {
  override def left: Expression = key
  override def right: Expression = keys
  override def nullable: Boolean = false
  override def eval(input: InternalRow): Any = true
  override protected def withNewChildrenInternal(l: Expression, r: Expression): InKeys =
    copy(key = l, keys = r)
}

/** Where the rows of a subquery go: its one value, or all values of its column. */
final case class Awaited(dataType: DataType, isList: Boolean)
    extends LeafExpression
    with Unevaluable {
  override def nullable: Boolean = true
}

/** What a scan is told: a condition and the rows of its subquery. */
final class Told(condition: Expression, rows: Array[Any]) {

  /** Over columns alone; None: nothing that would rule files out. */
  def predicate: Option[Expression] =
    try {
      val filled = condition.transformUp {
        case Awaited(t, false) if rows.length <= 1 => Literal(rows.headOption.orNull, t)
        case InKeys(key, Awaited(_, true))         => RuntimeValues.in(key, rows.toSeq)
        case InKeys(key, keys) if keys.foldable    => listed(key, keys.eval())
      }
      val folded = filled.transformUp {
        case e if e.foldable && !e.isInstanceOf[Literal] => Literal.create(e.eval(), e.dataType)
      }
      Some(folded).filterNot(_.exists(_.isInstanceOf[Awaited])).filter(_.references.nonEmpty)
    } catch { case NonFatal(_) => None } // whoever asks for the value raises it

  private def listed(key: Expression, keys: Any): Expression = keys match {
    case array: ArrayData => RuntimeValues.in(key, array.toSeq[Any](key.dataType))
    case _                => Literal.TrueLiteral
  }
}

object RuntimeValues {

  /** A longer list takes longer to send than most scans. */
  val Most = 100000

  /** True of the rows whose key is one of the values; of every row where they are too many. */
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

/** An IN with a subquery for Spark, which waits for it and asks for its values; what it hands on to
  * the scan is the condition with these (`Told`).
  *
  * A subclass, for BatchScanExec hands nothing else to a scan at run time, and nothing but IN over
  * a plain column (seen on 4.0 to 4.3).
  *
  * @param column
  *   any column of the condition
  * @param condition
  *   over columns by name, with [[Awaited]] for the subquery
  */
final class ToldWhenRun(
    column: Expression,
    subquery: BaseSubqueryExec,
    id: ExprId,
    val condition: Expression
) extends InSubqueryExec(column, subquery, id) {

  @transient private var rows: Option[Array[Any]] = None

  /** A subquery that fails is no reason to fail here: whoever needs its value fails. */
  override def updateResult(): Unit =
    rows =
      try {
        val dataType = plan.output.head.dataType
        Some(plan.executeCollect().map(_.get(0, dataType)))
      } catch { case NonFatal(_) => None }

  override def values(): Option[Array[Any]] = Some(rows.toArray.map(new Told(condition, _)))

  override def withNewPlan(plan: BaseSubqueryExec): InSubqueryExec =
    new ToldWhenRun(child, plan, exprId, condition)
  override protected def withNewChildInternal(newChild: Expression): InSubqueryExec =
    new ToldWhenRun(newChild, plan, exprId, condition)
  override lazy val canonicalized: InSubqueryExec = new ToldWhenRun(
    child.canonicalized,
    plan.canonicalized.asInstanceOf[BaseSubqueryExec],
    ExprId(0),
    condition
  )
  override def canEqual(other: Any): Boolean = other.isInstanceOf[ToldWhenRun]
  override def equals(other: Any): Boolean = other match {
    case o: ToldWhenRun =>
      child == o.child && plan == o.plan && exprId == o.exprId && condition == o.condition
    case _ => false
  }
  override def hashCode(): Int = super.hashCode() * 31 + condition.hashCode()
  override def toString: String = s"told $condition by subquery ${exprId.id}"
}
