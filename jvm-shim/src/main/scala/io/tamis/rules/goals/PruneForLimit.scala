package io.tamis.rules.goals

import io.tamis.conf.TamisConf
import io.tamis.planning.ScanGoal
import io.tamis.wire.LimitGoal
import org.apache.spark.sql.catalyst.expressions.IntegerLiteral
import org.apache.spark.sql.catalyst.plans.logical.{LocalLimit, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf

/** Confines the scan under LIMIT n to files that provably hold n matching rows.
  *
  * Spark puts a LocalLimit wherever any n rows from below are enough: under a LIMIT, with the
  * OFFSET added, in every branch of a UNION ALL, on the side of an outer join that keeps its rows.
  * A scan that returns n other rows, or all rows if there are fewer, is as valid.
  */
object PruneForLimit extends GoalRule {
  override val ruleName: String = "io.tamis.rules.PruneForLimit"
  override protected def isOn(conf: SQLConf): Boolean = TamisConf.limitEnabled(conf)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = plan.transformDown {
    case limit @ LocalLimit(IntegerLiteral(rows), ScanBelow(scan))
        if rows > 0 && scan.table.purpose.goals.isEmpty =>
      scan.withFiles(limit, ScanGoal.Limit(rows), LimitGoal(rows))
  }
}
