package io.tamis.report

import io.tamis.planning.{PlannedFiles, Question, ScanPlanner}
import io.tamis.wire.Messages
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.QueryExecution

/** What tamis.what_if needs from a plan: its scans with their filters, and the rows of their
  * tables. Plans the query but never runs it.
  */
object Layouts {

  /** The scans of a plan as JSON: [{"table", "files_kept", "files_total", "bytes_kept",
    * "bytes_total", "rows_total", "columns", "partition_columns", "case_sensitive", "filters":
    * [{"sql"}], "conjuncts": their documents}]
    */
  def scans(planned: QueryExecution): String = {
    val out = Messages.mapper.createArrayNode()
    nodes(planned).foreach(write(out.addObject(), _))
    Messages.mapper.writeValueAsString(out)
  }

  /** All rows of the table behind one of these scans, as Spark reads it. */
  def rows(planned: QueryExecution, scan: Int): Dataset[Row] = {
    val files: PlannedFiles = nodes(planned)(scan).files
    files.session.asInstanceOf[ClassicSession].baseRelationToDataFrame(files.relation)
  }

  private def nodes(planned: QueryExecution): Seq[ScanNode] =
    ScanNodes.decided(planned.executedPlan)

  private def write(out: ObjectNode, scan: ScanNode): Unit = {
    val d = scan.decision.shown
    out.put("table", scan.files.name())
    // a scan of a catalog table lists only the partitions that match
    val whole = ScanPlanner.everything(scan.files).kept.listing
    out.put("files_kept", d.kept.count).put("files_total", whole.size)
    out.put("bytes_kept", d.kept.bytes).put("bytes_total", whole.totalBytes)
    d.totalRecords
      .filter(_ => whole.size == d.kept.listing.size)
      .fold(out.putNull("rows_total"))(out.put("rows_total", _))
    val columns = out.putArray("columns")
    scan.files.relation.schema.fieldNames.foreach(columns.add)
    val partitions = out.putArray("partition_columns")
    scan.files.relation.partitionSchema.fieldNames.foreach(partitions.add)
    out.put("case_sensitive", isCaseSensitive(scan))
    val writer = Question.writer(scan.files)
    val conjuncts = out.putArray("conjuncts")
    val filters = out.putArray("filters")
    d.conjuncts.foreach { c =>
      conjuncts.add(writer.write(c.expression))
      filters.addObject().put("sql", c.sql)
    }
  }

  private def isCaseSensitive(scan: ScanNode): Boolean =
    scan.files.session.asInstanceOf[ClassicSession].sessionState.conf.caseSensitiveAnalysis
}
