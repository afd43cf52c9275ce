package io.tamis.report

import java.util.UUID

import com.fasterxml.jackson.databind.node.ObjectNode
import io.tamis.conf.TamisConf
import io.tamis.report.Fields.{putLong, putReason}
import io.tamis.source.Question
import io.tamis.wire.Messages
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.internal.SQLConf

/** The scans of a query that ran, as documents for the history (tamis.wire.history). */
object ScanRecords {

  /** On cached plans that were recorded: they run once, and stand in every plan that reads them. */
  private val Recorded = TreeNodeTag[Boolean]("io.tamis.recorded")

  def of(ran: QueryExecution, application: String, execution: Long, time: Long): Seq[String] =
    ScanNodes.of(ran.executedPlan, isNew).map { scan =>
      val out = Messages.mapper.createObjectNode()
      out.put("version", Messages.Version).put("id", UUID.randomUUID().toString)
      out.put("time", time).put("application", application).put("execution", execution)
      writeSettings(out.putObject("history"))
      out.put("table", scan.files.name())
      writeSizes(out, scan)
      writeReasons(out, scan)
      // what statistics say of each conjunct is for the sidecar to find out, at its leisure
      val d = scan.decision
      Messages.writeKept(d.kept.ordinals, d.kept.listing.size, out.putObject("kept"))
      val filters = d.conjuncts.map(_.expression)
      val question =
        new Question(scan.files, d.kept.listing, filters, detail = true, wholeFiles = true)
      out.set[ObjectNode]("question", Messages.mapper.readTree(question.document()))
      Messages.mapper.writeValueAsString(out)
    }

  private def isNew(cachedPlan: SparkPlan): Boolean = {
    val seen = cachedPlan.getTagValue(Recorded).isDefined
    cachedPlan.setTagValue(Recorded, true)
    !seen
  }

  private def writeSettings(out: ObjectNode): Unit = {
    val conf = SQLConf.get
    TamisConf.historyLocation(conf).fold(out.putNull("location"))(out.put("location", _))
    out.put("max_age_days", TamisConf.historyMaxAgeDays(conf))
    out.put("max_megabytes", TamisConf.historyMaxMegabytes(conf))
  }

  private def writeSizes(out: ObjectNode, scan: ScanNode): Unit = {
    val d = scan.decision
    out.put("files_kept", d.kept.count).put("files_total", d.kept.listing.size)
    out.put("files_read", scan.filesRead)
    out.put("bytes_kept", d.kept.bytes).put("bytes_total", d.kept.listing.totalBytes)
    putLong(out, "rows_kept", d.keptRecords)
    putLong(out, "rows_total", d.totalRecords)
    putLong(out, "row_groups_kept", d.rowGroups.flatMap(_.kept))
    putLong(out, "row_groups_total", d.rowGroups.flatMap(_.total))
    val read = rowsOf(scan.node)
    putLong(out, "rows_read", read)
    val unfiltered = read.filter(_ => d.residual.isEmpty)
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
    scan.decision.conjuncts.foreach { c =>
      putReason(conjuncts.addObject().put("sql", c.sql).put("pushdown", c.pushdown), c.reason)
    }
  }

  /** Spark's own count of the rows that a node gave. */
  private def rowsOf(node: SparkPlan): Option[Long] =
    node.metrics.get("numOutputRows").map(_.value).filter(_ >= 0)
}
