package io.tamis.functions

import io.tamis.Tamis
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Returns one row with what the optimizer pushed to a scan of the table in the same query. */
object PushdownFunction extends TextFunction("tamis_pushdown", "the name or the path of a table") {
  override def usage: String =
    "tamis_pushdown(table) - one row with the columns of the table, all NULL, and columns that " +
      "show what Spark pushed to its scan in this query"

  override protected def rows(session: SparkSession, text: String): LogicalPlan = {
    val columns = Tamis.read(session, text).schema
    DataSourceV2Relation.create(new PushdownProbe(session, text, columns), None, None)
  }
}
