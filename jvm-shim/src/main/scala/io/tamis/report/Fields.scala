package io.tamis.report

import io.tamis.wire.Reason
import com.fasterxml.jackson.databind.node.ObjectNode

/** Writes fields of reports that may be null. */
private[report] object Fields {
  def putLong(out: ObjectNode, field: String, value: Option[Long]): Unit =
    value.fold(out.putNull(field))(out.put(field, _))

  def putDouble(out: ObjectNode, field: String, value: Option[Double]): Unit =
    value.fold(out.putNull(field))(out.put(field, _))

  def putReason(out: ObjectNode, reason: Option[Reason], field: String = "reason"): Unit =
    reason match {
      case None    => out.putNull(field)
      case Some(r) => write(out.putObject(field), r)
    }

  def write(out: ObjectNode, r: Reason): Unit =
    out.put("code", r.code).put("text", r.text).put("fix", r.fix.orNull)
}
