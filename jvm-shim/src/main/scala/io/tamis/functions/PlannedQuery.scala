package io.tamis.functions

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}

/** The text of a query, planned and not run. */
private[functions] object PlannedQuery {
  def of(session: SparkSession, query: String): QueryExecution = {
    val parsed = session.sessionState.sqlParser.parsePlan(query)
    // SKIP: a command in the text is planned and not run
    session.sessionState.executePlan(parsed, CommandExecutionMode.SKIP)
  }
}
