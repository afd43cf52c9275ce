package io.tamis.formats

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** The relation by which a plan of Spark for MERGE, UPDATE or DELETE reads the table that it
  * changes. All other relations of the plan are those of any query.
  *
  * Its class is private to Spark (4.0 to 4.3).
  */
object RowLevelTarget {
  private val Name = "org.apache.spark.sql.connector.write.RowLevelOperationTable"

  /** The table of the catalog. */
  def unapply(plan: LogicalPlan): Option[Table] = plan match {
    case relation: DataSourceV2Relation if relation.table.getClass.getName == Name =>
      Some(Members.get[Table](relation.table, "table"))
    case _ => None
  }

  def isIn(plan: LogicalPlan): Boolean = plan.exists(unapply(_).nonEmpty)
}
