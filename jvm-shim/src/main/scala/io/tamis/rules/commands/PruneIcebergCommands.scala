package io.tamis.rules.commands

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.formats.FormatFailure
import io.tamis.formats.iceberg.IcebergTarget
import io.tamis.rules.relations.ScanOf
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.internal.SQLConf

/** Leaves out files in the scan of the target of MERGE, UPDATE and DELETE of Iceberg, in tables
  * that record deletes of single rows (merge-on-read).
  *
  * Spark reads the target once, in a plan that ends in WriteDelta. A row that has no effect on the
  * plan ([[TargetScans]]) has none on what is written. The scan itself stays, with the filters by
  * which Iceberg detects conflicts: only its tasks become fewer.
  *
  * Where Iceberg replaces whole files instead (copy-on-write), a row without a match is written
  * again if a row of its file has one. There, Spark first finds the files with matching rows in a
  * query of its own, which tamis prunes as any other (RowLevelOperationRuntimeGroupFiltering of
  * Spark).
  *
  * It is a strategy that plans nothing: it sees logical plans after all scans were built.
  */
object PruneIcebergCommands extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    val conf = SQLConf.get
    if (
      plan.nodeName == WritesDeletes && TamisConf.mode(conf) == Mode.Apply &&
      TamisConf.commandsEnabled(conf)
    )
      FormatFailure.kept[Any](())(scans(plan).in(plan)): Unit
    Nil
  }

  private val WritesDeletes = "WriteDelta"

  private def scans(whole: LogicalPlan) = new TargetScans({
    case (relation @ IcebergTarget(target), needed)
        if target.size > 1 && !target
          .hasEqual(whole.collectWithSubqueries { case ScanOf(s) => s }) =>
      target.confine(needed.conjuncts)(needed.decide)
      relation
  })
}
