package io.tamis.functions

import io.tamis.bridge.StartWait
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.types.StructType

private[tamis] object QueryFunction {

  /** Plans the text of a query or command. SKIP: a command is planned and not run. */
  def planned(session: SparkSession, query: String): QueryExecution =
    session.sessionState.executePlan(
      session.sessionState.sqlParser.parsePlan(query),
      CommandExecutionMode.SKIP
    )
}

/** A function whose argument is the text of a query, which is planned and not run. */
private[functions] abstract class QueryFunction(name: String)
    extends TextFunction(name, "the text of a query") {

  protected def schema: StructType

  /** The rows of the result, in the order of the schema. Called while the session is the active
    * one.
    */
  protected def rows(planned: QueryExecution): Seq[Row]

  final override protected def rows(session: SparkSession, query: String): LogicalPlan = {
    val planned = QueryFunction.planned(session, query)
    val result = session.withActive(StartWait.inFull(rows(planned)))
    LocalRelation.fromExternalRows(DataTypeUtils.toAttributes(schema), result)
  }
}
