package io.tamis.wire

import com.fasterxml.jackson.databind.node.ObjectNode

/** What else the planner is asked about the files that a filter keeps (tamis.wire.goals). */
trait Goal {
  def writeTo(out: ObjectNode): Unit
}

/** Which files are enough for a LIMIT? */
final case class LimitGoal(rows: Long) extends Goal {
  override def writeTo(out: ObjectNode): Unit = { out.put("kind", "limit").put("rows", rows); () }
}
