package io.tamis.rules.relations

import io.tamis.formats.{FormatFailure, RowLevelTarget}
import io.tamis.formats.delta.DeltaFiles
import io.tamis.formats.iceberg.IcebergRelation
import io.tamis.rules.goals.GoalRule
import io.tamis.scan.TamisTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf

/** Replaces every eligible file relation by a [[io.tamis.scan.TamisTable]].
  *
  * Pre-CBO: the operator optimizer is done, so filters are simplified and lie directly on their
  * relations; V2ScanRelationPushDown, the next batch, hands them to the table's ScanBuilder.
  */
class UseTamisTables(session: SparkSession) extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean = true

  override protected def rewritten(plan: LogicalPlan): LogicalPlan =
    if (Eligibility.isRowLevelWrite(plan) && !RowLevelTarget.isIn(plan)) plan
    else {
      val filters = new FiltersOver(plan)
      val taken = plan.transformDown {
        case FileRelation(relation, files) if Eligibility.refusal(relation).isEmpty =>
          FormatFailure.kept[LogicalPlan](relation) {
            val table = files match {
              case DeltaFiles(delta) => delta.table(session, relation)
              case _                 => new TamisTable(session, files, relation.catalogTable)
            }
            TamisRelation.of(table, relation.output)
          }
        case relation: DataSourceV2Relation if IcebergRelation.isOne(relation.table) =>
          FormatFailure.kept[LogicalPlan](relation)(
            IcebergRelation.taken(session, relation, filters(relation)).getOrElse(relation)
          )
      }
      DeltaInSubqueries.taken(session, taken)
    }
}
