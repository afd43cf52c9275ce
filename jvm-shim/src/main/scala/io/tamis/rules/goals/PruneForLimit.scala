package io.tamis.rules.goals

import io.tamis.conf.TamisConf
import io.tamis.planning.{Question, ScanGoal}
import io.tamis.wire.LimitGoal
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  Expression,
  IntegerLiteral,
  ToPrettyString
}
import org.apache.spark.sql.catalyst.plans.logical.{LocalLimit, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf

/** Confines the scan under LIMIT n to files that provably hold n matching rows.
  *
  * Spark puts a LocalLimit wherever any n rows from below are enough: under a LIMIT, with the
  * OFFSET added, in every branch of a UNION ALL, on the side of an outer join that keeps its rows.
  * A scan that returns n other rows, or all rows if there are fewer, is as valid.
  */
object PruneForLimit extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean = TamisConf.limitEnabled(conf)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = plan.transformDown {
    case limit @ LocalLimit(IntegerLiteral(rows), ScanBelow(scan))
        if rows > 0 && scan.table.purpose.goals.isEmpty =>
      val outputs = Question.writer(scan.table).writeAll(computed(scan))
      scan.withFiles(limit, ScanGoal.Limit(rows), LimitGoal(rows, outputs))
  }

  /** What is computed for the rows below the LIMIT. Spark reads the largest file first and stops
    * after it, so rows of another file must not raise an error.
    */
  private def computed(scan: ScanBelow): Seq[Expression] = scan.outputs.values.toSeq
    .map {
      case text: ToPrettyString => text.child // of DataFrame.show
      case other                => other
    }
    .filterNot(_.isInstanceOf[Attribute])
}
