package io.tamis.wire

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

/** What else the planner is asked about the files that a filter keeps (tamis.wire.goals). */
trait Goal {
  def writeTo(out: ObjectNode): Unit
}

/** Which files are enough for a LIMIT? */
final case class LimitGoal(rows: Long) extends Goal {
  override def writeTo(out: ObjectNode): Unit = { out.put("kind", "limit").put("rows", rows); () }
}

/** Between which values does a key lie? */
final case class KeyRangeGoal(key: ObjectNode) extends Goal {
  override def writeTo(out: ObjectNode): Unit = {
    out.put("kind", "key_range").set[ObjectNode]("key", key); ()
  }
}

/** Which files hold a row of which this predicate may be true? */
final case class ConfineGoal(predicate: ObjectNode) extends Goal {
  override def writeTo(out: ObjectNode): Unit = {
    out.put("kind", "confine").set[ObjectNode]("to", predicate); ()
  }
}

/** Of which of these keys do single values lie in few files? */
final case class ClusteredGoal(keys: ArrayNode) extends Goal {
  override def writeTo(out: ObjectNode): Unit = {
    out.put("kind", "clustered").set[ObjectNode]("keys", keys); ()
  }
}
