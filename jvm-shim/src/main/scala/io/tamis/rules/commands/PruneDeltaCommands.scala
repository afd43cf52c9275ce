package io.tamis.rules.commands

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.formats.FormatFailure
import io.tamis.formats.delta.DeltaBatch
import io.tamis.rules.goals.GoalRule
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf

/** Leaves out files in the queries that MERGE, UPDATE and DELETE of Delta run.
  *
  * Such a command is a transaction. It chooses files of the newest version, runs a query that finds
  * those of them with matching rows, and then one that reads these again to rewrite them. Each of
  * the queries is optimized by itself. This rule changes which files a query opens, and never its
  * result ([[TargetScans]]). So the command finds the same files and rows, and writes the same. Its
  * transaction stays as Delta has made it, with the conjuncts and files that decide about conflicts
  * with other commits.
  */
object PruneDeltaCommands extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean =
    TamisConf.mode(conf) == Mode.Apply && TamisConf.commandsEnabled(conf)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan =
    if (DeltaBatch.isIn(plan)) scans.in(plan) else plan

  private val scans = new TargetScans({
    case (relation @ DeltaBatch(batch), needed) if batch.size > 1 =>
      FormatFailure.kept(relation) {
        needed.decide(batch.files).fold(relation)(batch.over)
      }
  })
}
