package io.tamis.report

import io.tamis.planning.Conjunct
import io.tamis.wire.Json
import com.fasterxml.jackson.databind.node.ObjectNode

/** Fields about a scan that reports and the history have in common; null: not known. */
private[report] object ScanFields {

  /** The sizes of the table and of the decision. */
  def sizes(scan: ScanNode): Seq[(String, Any)] = {
    val d = scan.decision.shown
    Seq(
      "table" -> scan.files.name(),
      "observed" -> scan.decision.isObserved,
      "files_read" -> scan.read.map(_.files),
      "bytes_read" -> scan.read.flatMap(_.bytes),
      "planning_ms" -> d.planningMillis,
      "fallback" -> scan.decision.fallback
    ) ++ d.sizes.fields
  }

  def goals(scan: ScanNode): Seq[ObjectNode] =
    scan.files.purpose.goals.map(g => Json.obj("goal" -> g.text, "reason" -> g.reason))

  def conjunct(c: Conjunct): ObjectNode =
    Json.obj("sql" -> c.sql, "pushdown" -> c.pushdown, "reason" -> c.reason)
}
