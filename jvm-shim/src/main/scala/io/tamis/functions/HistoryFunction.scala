package io.tamis.functions

import io.tamis.bridge.{Planner, SidecarSupervisor}
import io.tamis.conf.TamisConf
import io.tamis.report.ScanHistory
import io.tamis.wire.HistoryRequest

import org.apache.spark.SparkContext
import org.apache.spark.sql.internal.SQLConf

/** Returns the history of scans that ran, oldest first: what `tamis.history()` reads, on the
  * machine of the driver. Waits until the queries that this driver has ended are recorded.
  */
object HistoryFunction extends StoredRows("tamis_history") {
  override def usage: String =
    "tamis_history() - the scans that ran, and what tamis decided about them"

  override protected val noArgument: String =
    "set spark.tamis.history.location to read another directory"
  override protected val kind: String = "history"
  override protected def settle(context: SparkContext): Unit = ScanHistory.flush(context)
  override protected def request(conf: SQLConf): HistoryRequest =
    HistoryRequest(SidecarSupervisor.privateDirectory.toString, TamisConf.historyLocation(conf))
  override protected def method: Planner => String => String = _.history
}
