package io.tamis.rules

import io.tamis.conf.TamisConf
import io.tamis.source.{Purpose, TamisTable}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Subquery}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** Puts a [[io.tamis.source.TamisTable]] in the place of every eligible file relation.
  *
  * Pre-CBO: the operator optimizer is done, so filters are simplified and sit on their relations;
  * V2ScanRelationPushDown, the next batch, hands them to the table's ScanBuilder.
  */
class UseTamisTables(session: SparkSession) extends Rule[LogicalPlan] {
  override val ruleName: String = "io.tamis.rules.UseTamisTables"

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!TamisConf.enabled(conf) || Eligibility.isRowLevelWrite(plan)) plan
    else {
      val purpose = Purpose.unknown.copy(tellsOthers = mayTellOthers(plan))
      plan.transformDown {
        case relation: LogicalRelation if Eligibility.refusal(relation).isEmpty =>
          replace(relation, purpose)
      }
    }

  /** Whether Spark may prune partitions of one relation by the rows of another. IN and EXISTS
    * become joins after their subqueries were optimized.
    */
  private def mayTellOthers(plan: LogicalPlan): Boolean = plan match {
    case _: Subquery => true
    case _           =>
      plan.exists(_.isInstanceOf[Join]) && plan.exists {
        case r: LogicalRelation => isPartitioned(r)
        case _                  => false
      }
  }

  private def isPartitioned(relation: LogicalRelation): Boolean = relation.relation match {
    case files: HadoopFsRelation => files.partitionSchema.nonEmpty
    case _                       => false
  }

  private def replace(relation: LogicalRelation, purpose: Purpose): LogicalPlan = {
    val table = new TamisTable(
      session,
      relation.relation.asInstanceOf[HadoopFsRelation],
      relation.catalogTable,
      purpose
    )
    TamisRelation.of(table, relation.output)
  }
}
