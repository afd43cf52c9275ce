package io.tamis.functions

import io.tamis.bridge.{PlannerClient, PlannerUnavailable, SidecarSupervisor, Warnings}
import io.tamis.conf.TamisConf
import io.tamis.listing.ArrowFile
import io.tamis.report.ScanHistory
import io.tamis.wire.HistoryRequest
import java.nio.file.Files

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.internal.SQLConf

/** Returns the history of scans that ran, oldest first: what `tamis.history()` reads, on the
  * machine of the driver. Waits until the queries that this driver has ended are recorded. Fails if
  * the sidecar is not available, because an empty history would be a wrong answer.
  */
object HistoryFunction extends TableFunction("tamis_history") {
  override def usage: String =
    "tamis_history() - the scans that ran, and what tamis decided about them"

  override def apply(arguments: Seq[Expression]): LogicalPlan = {
    if (arguments.nonEmpty)
      throw new IllegalArgumentException(
        s"$name takes no argument: set spark.tamis.history.location to read another directory"
      )
    val session = SparkSession.active
    ScanHistory.flush(session.sparkContext)
    val history = session.withActive(read(SQLConf.get))
    LocalRelation.fromExternalRows(DataTypeUtils.toAttributes(history.schema), history.rows)
  }

  private def read(conf: SQLConf): ArrowFile[Row] = {
    val directory = SidecarSupervisor.privateDirectory
    val request = HistoryRequest(directory.toString, TamisConf.historyLocation(conf))
    val file = directory.resolve(s"${request.id}.history.arrow")
    try {
      val notes = PlannerClient.ask(request, conf)(_.history)
      notes.foreach(note => Warnings.once(s"history:$note", note))
      val schema = ArrowFile.read(file)(_ => ()).schema
      val flat = UnsafeProjection.create(schema) // nested values must outlive their batch
      val rows = CatalystTypeConverters.createToScalaConverter(schema)
      ArrowFile.read(file)(row => rows(flat(row).copy()).asInstanceOf[Row])
    } catch {
      case e: PlannerUnavailable =>
        throw new IllegalStateException(s"$name: the sidecar is not available: ${e.getMessage}", e)
    } finally Files.deleteIfExists(file)
  }
}
