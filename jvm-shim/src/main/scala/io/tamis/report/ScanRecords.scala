package io.tamis.report

import io.tamis.conf.TamisConf
import io.tamis.planning.{AuditResult, Question}
import io.tamis.wire.Messages
import io.tamis.report.Fields.{putLong, putReason}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.internal.SQLConf

/** Writes the scans of a query that ran as documents for the history (tamis.wire.history). */
object ScanRecords {

  /** Marks cached plans that were recorded: they run once, but appear in every plan that reads
    * them.
    */
  private val Recorded = TreeNodeTag[Boolean]("io.tamis.recorded")

  /** Identifies this driver in ids, because several applications may have the same name. The driver
    * counts executions across all of its contexts.
    */
  private val driver = UUID.randomUUID()

  def of(ran: QueryExecution, application: String, execution: Long, time: Long): Seq[String] = {
    val every = ScanNodes.of(ran.executedPlan, _ => true).map(_.node)
    ScanNodes.of(ran.executedPlan, isNew).map { scan =>
      val number = every.indexWhere(_ eq scan.node)
      val out = document("scan", execution, number, time)
      out.put("application", application).put("execution", execution)
      out.put("table", scan.files.name())
      writeSizes(out, scan)
      writeReasons(out, scan)
      // the sidecar derives what statistics prove about each conjunct later, in the background
      val d = scan.decision.shown
      Messages.writeKept(d.kept.ordinals, d.kept.listing.size, out.putObject("kept"))
      val filters = d.conjuncts.map(_.expression)
      val question =
        new Question(scan.files, d.kept.listing, filters, detail = true, wholeFiles = true)
      out.set[ObjectNode]("question", Messages.mapper.readTree(question.document()))
      Messages.mapper.writeValueAsString(out)
    }
  }

  /** The document with the result of the audit of a scan, with the id of the scan's record.
    *
    * @param scan
    *   its number among all scans of the plan
    */
  def ofAudit(execution: Long, scan: Int, time: Long, result: AuditResult): String = {
    val out = document("audit", execution, scan, time)
    val audit = out.putObject("audit").put("result", result.outcome.name).put("files", result.files)
    audit.put("text", result.text.orNull)
    Messages.mapper.writeValueAsString(out)
  }

  private def document(kind: String, execution: Long, scan: Int, time: Long): ObjectNode = {
    val id = UUID.nameUUIDFromBytes(s"$driver $execution $scan".getBytes(UTF_8))
    val out = Messages.mapper.createObjectNode()
    out.put("version", Messages.Version).put("kind", kind).put("id", id.toString).put("time", time)
    writeSettings(out.putObject("history"))
    out
  }

  private def isNew(cachedPlan: SparkPlan): Boolean = {
    val seen = cachedPlan.getTagValue(Recorded).isDefined
    cachedPlan.setTagValue(Recorded, true)
    !seen
  }

  private def writeSettings(out: ObjectNode): Unit = {
    val conf = SQLConf.get
    TamisConf.historyLocation(conf).fold(out.putNull("location"))(out.put("location", _))
    out.put("max_age_ms", TamisConf.historyMaxAgeMs(conf))
    out.put("max_bytes", TamisConf.historyMaxBytes(conf))
  }

  private def writeSizes(out: ObjectNode, scan: ScanNode): Unit = {
    val d = scan.decision.shown
    out.put("observed", scan.decision.isObserved)
    out.put("files_kept", d.kept.count).put("files_total", d.kept.listing.size)
    putLong(out, "files_read", scan.read.map(_.files))
    putLong(out, "bytes_read", scan.read.flatMap(_.bytes))
    out.put("bytes_kept", d.kept.bytes).put("bytes_total", d.kept.listing.totalBytes)
    putLong(out, "rows_kept", d.keptRecords)
    putLong(out, "rows_total", d.totalRecords)
    putLong(out, "row_groups_kept", d.rowGroups.flatMap(_.kept))
    putLong(out, "row_groups_total", d.rowGroups.flatMap(_.total))
    val read = rowsOf(scan.node)
    putLong(out, "rows_read", read)
    val unfiltered = read.filter(_ => scan.decision.residual.isEmpty)
    putLong(out, "rows_passed", scan.filter.flatMap(rowsOf).orElse(unfiltered))
    out.put("planning_ms", d.planningMillis)
  }

  private def writeReasons(out: ObjectNode, scan: ScanNode): Unit = {
    out.put("fallback", scan.decision.fallback.orNull)
    val goals = out.putArray("goals")
    scan.files.purpose.goals.foreach { g =>
      putReason(goals.addObject().put("goal", g.text), g.reason)
    }
    val conjuncts = out.putArray("conjuncts")
    scan.decision.shown.conjuncts.foreach { c =>
      putReason(conjuncts.addObject().put("sql", c.sql).put("pushdown", c.pushdown.name), c.reason)
    }
  }

  /** Spark's own count of the rows that a node produced. */
  private def rowsOf(node: SparkPlan): Option[Long] =
    node.metrics.get("numOutputRows").map(_.value).filter(_ >= 0)
}
