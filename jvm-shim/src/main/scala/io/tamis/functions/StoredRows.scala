package io.tamis.functions

import io.tamis.bridge.{Planner, PlannerClient, PlannerUnavailable, SidecarSupervisor, Warnings}
import io.tamis.listing.ArrowFile
import io.tamis.wire.FileRequest
import java.nio.file.Files

import org.apache.spark.SparkContext
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.internal.SQLConf

/** Returns what the sidecar has stored on the machine of the driver. Fails if the sidecar is not
  * available, because an empty result would be a wrong answer.
  */
private[functions] abstract class StoredRows(name: String) extends TableFunction(name) {

  /** What to do instead of passing an argument. */
  protected def noArgument: String

  /** The kind of the file that the sidecar writes: `<id>.<kind>.arrow`. */
  protected def kind: String

  /** Waits until what the queries that have ended leave is stored. */
  protected def settle(context: SparkContext): Unit
  protected def request(conf: SQLConf): FileRequest
  protected def method: Planner => String => String

  final override def apply(arguments: Seq[Expression]): LogicalPlan = {
    if (arguments.nonEmpty)
      throw new IllegalArgumentException(s"$name takes no argument: $noArgument")
    val session = SparkSession.active
    settle(session.sparkContext)
    val stored = session.withActive(read(SQLConf.get))
    LocalRelation.fromExternalRows(DataTypeUtils.toAttributes(stored.schema), stored.rows)
  }

  private def read(conf: SQLConf): ArrowFile[Row] = {
    val asked = request(conf)
    val file = SidecarSupervisor.privateDirectory.resolve(s"${asked.id}.$kind.arrow")
    try {
      val notes = PlannerClient.ask(asked, conf)(method)
      notes.foreach(note => Warnings.once(s"$kind:$note", note))
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
