package io.tamis.rules.relations

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.scan.TamisTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/** Replaces every eligible file relation by a [[io.tamis.scan.TamisTable]].
  *
  * Pre-CBO: the operator optimizer is done, so filters are simplified and lie directly on their
  * relations; V2ScanRelationPushDown, the next batch, hands them to the table's ScanBuilder.
  */
class UseTamisTables(session: SparkSession) extends Rule[LogicalPlan] {
  override val ruleName: String = "io.tamis.rules.UseTamisTables"

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (TamisConf.mode(conf) == Mode.Off || Eligibility.isRowLevelWrite(plan)) plan
    else
      plan.transformDown {
        case FileRelation(relation, files) if Eligibility.refusal(relation).isEmpty =>
          val table = new TamisTable(session, files, relation.catalogTable)
          TamisRelation.of(table, relation.output)
      }
}
