package io.tamis.functions

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.types.StructType

/** A function whose argument is the text of a query, which is planned and not run. */
private[functions] abstract class QueryFunction(name: String)
    extends TextFunction(name, "the text of a query") {

  protected def schema: StructType

  /** The rows of the result, in the order of the schema. Called while the session is the active
    * one.
    */
  protected def rows(planned: QueryExecution): Seq[Row]

  final override protected def rows(session: SparkSession, query: String): LogicalPlan = {
    val parsed = session.sessionState.sqlParser.parsePlan(query)
    // SKIP: a command in the text is planned and not run
    val planned = session.sessionState.executePlan(parsed, CommandExecutionMode.SKIP)
    val result = session.withActive(rows(planned))
    LocalRelation.fromExternalRows(DataTypeUtils.toAttributes(schema), result)
  }
}
