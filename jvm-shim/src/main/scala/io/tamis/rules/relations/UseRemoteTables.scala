package io.tamis.rules.relations

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.rules.goals.GoalRule
import io.tamis.remote.RemoteTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable
import org.apache.spark.sql.internal.SQLConf

/** Replaces relations over a remote source of tamis, whose scans then hand columns, filters and
  * LIMIT to it. Without this rule Spark reads the whole table.
  */
final class UseRemoteTables(session: SparkSession) extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean = TamisConf.mode(conf) == Mode.Apply

  override protected def rewritten(plan: LogicalPlan): LogicalPlan =
    if (plan.isStreaming) plan
    else
      plan.transformDown {
        case relation: DataSourceV2Relation if isRemote(relation) =>
          val name = relation.table.name()
          val table = new RemoteTable(session, name, relation.schema, relation.options)
          TamisRelation.of(table, relation.output)
      }

  private def isRemote(relation: DataSourceV2Relation): Boolean = relation.table match {
    case table: PythonTable => UseRemoteTables.Formats(table.name())
    case _                  => false
  }
}

object UseRemoteTables {

  /** The names of the data sources (tamis.remote.datasource in Python). */
  val Formats: Set[String] = Set("tamis.airport", "tamis.vgi")
}
