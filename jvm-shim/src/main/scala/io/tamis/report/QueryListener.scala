package io.tamis.report

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

/** Receives the queries that ended without an error. */
private[tamis] abstract class QueryListener extends SparkListener {
  protected def ended(ran: QueryExecution, execution: Long, time: Long): Unit

  final override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case e: SparkListenerSQLExecutionEnd if e.errorMessage.forall(_.isEmpty) =>
      Option(SparkEvents.planOf(e)).foreach(ended(_, e.executionId, e.time))
    case _ =>
  }
}

/** Recognizes the cached plans that it sees for the first time: a cached plan runs once, but
  * appears in every plan that reads it.
  */
private[report] final class FirstSeen(name: String) {
  private val tag = TreeNodeTag[Boolean](name)

  def apply(cachedPlan: SparkPlan): Boolean = {
    val seen = cachedPlan.getTagValue(tag).isDefined
    cachedPlan.setTagValue(tag, true)
    !seen
  }
}
