package io.tamis.report

import io.tamis.conf.TamisConf
import io.tamis.planning.{AuditResult, Question}
import io.tamis.wire.{Json, Messages}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.internal.SQLConf

/** Writes the scans of a query that ran as documents for the history (tamis.wire.history). */
object ScanRecords {

  private val isNew = new FirstSeen("io.tamis.recorded")

  /** Identifies this driver in ids, because several applications may have the same name. The driver
    * counts executions across all of its contexts.
    */
  private val driver = UUID.randomUUID()

  def of(ran: QueryExecution, application: String, execution: Long, time: Long): Seq[String] = {
    val every = ScanNodes.of(ran.executedPlan, _ => true).map(_.node)
    val aggregates = RecordableAggregates.of(ran.sparkSession, ran.executedPlan)
    ScanNodes.of(ran.executedPlan, isNew(_)).map { scan =>
      val number = every.indexWhere(_ eq scan.node)
      val d = scan.decision.shown
      val read = rowsOf(scan.node)
      val unfiltered = read.filter(_ => scan.decision.residual.isEmpty)
      // the sidecar derives what statistics prove about each conjunct later, in the background
      val filters = d.conjuncts.map(_.expression)
      val question =
        new Question(scan.files, d.kept.listing, filters, detail = true, wholeFiles = true)
      val own = Seq(
        "application" -> application,
        "execution" -> execution,
        "rows_read" -> read,
        "rows_passed" -> scan.filter.flatMap(rowsOf).orElse(unfiltered),
        "goals" -> ScanFields.goals(scan),
        "conjuncts" -> d.conjuncts.map(ScanFields.conjunct),
        "aggregates" -> aggregates.collectFirst { case (node, a) if node eq scan.node => a },
        "kept" -> Messages.keptDocument(d.kept.ordinals, d.kept.listing.size),
        "question" -> question.document()
      )
      document("scan", execution, number, time, own ++ ScanFields.sizes(scan))
    }
  }

  /** The document with the result of the audit of a scan, with the id of the scan's record.
    *
    * @param scan
    *   its number among all scans of the plan
    */
  def ofAudit(execution: Long, scan: Int, time: Long, result: AuditResult): String = {
    val audit =
      Json.obj("result" -> result.outcome, "files" -> result.files, "text" -> result.text)
    document("audit", execution, scan, time, Seq("audit" -> audit))
  }

  private def document(
      kind: String,
      execution: Long,
      scan: Int,
      time: Long,
      content: Seq[(String, Any)]
  ): String = {
    val id = UUID.nameUUIDFromBytes(s"$driver $execution $scan".getBytes(UTF_8))
    val conf = SQLConf.get
    val head = Seq(
      "version" -> Messages.Version,
      "kind" -> kind,
      "id" -> id.toString,
      "time" -> time,
      "history" -> Json.obj(
        "location" -> TamisConf.historyLocation(conf),
        "max_age_ms" -> TamisConf.historyMaxAgeMs(conf),
        "max_bytes" -> TamisConf.historyMaxSizeBytes(conf)
      )
    )
    Json.text(Json.obj(head ++ content: _*))
  }

  /** Spark's own count of the rows that a node produced. */
  private def rowsOf(node: SparkPlan): Option[Long] =
    node.metrics.get("numOutputRows").map(_.value).filter(_ >= 0)
}
