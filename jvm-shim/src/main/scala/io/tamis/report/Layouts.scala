package io.tamis.report

import io.tamis.planning.{PlannedFiles, Question, ScanPlanner}
import io.tamis.wire.Json
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.QueryExecution

/** What tamis.what_if needs from a plan: its scans with their filters, and the rows of their
  * tables. Plans the query but never runs it.
  */
object Layouts {

  /** The scans of a plan as JSON: [{"table", the fields of [[ScanSizes]], "columns",
    * "partition_columns", "case_sensitive", "filters": [{"sql"}], "conjuncts": their documents}]
    */
  def scans(planned: QueryExecution): String = Json.text(nodes(planned).map(of))

  /** All rows of the table behind one of these scans, as Spark reads it. */
  def rows(planned: QueryExecution, scan: Int): Dataset[Row] = {
    val files: PlannedFiles = nodes(planned)(scan).files.whole
    files.session.asInstanceOf[ClassicSession].baseRelationToDataFrame(files.relation)
  }

  private def nodes(planned: QueryExecution): Seq[ScanNode] =
    ScanNodes.decided(planned.executedPlan)

  private def of(scan: ScanNode): ObjectNode = {
    val d = scan.decision.shown
    // a scan of a catalog table lists only the partitions that match
    val whole = ScanPlanner.wholeListing(scan.files.whole)
    Json.put(
      Json.obj(d.sizes.outOf(whole).fields: _*),
      "table" -> scan.files.name(),
      "columns" -> scan.files.relation.schema.fieldNames.toSeq,
      "partition_columns" -> scan.files.relation.partitionSchema.fieldNames.toSeq,
      "case_sensitive" -> isCaseSensitive(scan),
      "conjuncts" -> Question.writer(scan.files).writeAll(d.conjuncts.map(_.expression)),
      "filters" -> d.conjuncts.map(c => Json.obj("sql" -> c.sql))
    )
  }

  private def isCaseSensitive(scan: ScanNode): Boolean =
    scan.files.session.asInstanceOf[ClassicSession].sessionState.conf.caseSensitiveAnalysis
}
