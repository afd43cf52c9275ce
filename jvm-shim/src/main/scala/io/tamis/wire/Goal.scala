package io.tamis.wire

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

/** Additional question to the planner about the files that a filter keeps (tamis.wire.goals). */
trait Goal {
  def writeTo(out: ObjectNode): Unit
}

/** Which files can hold one of the first rows in this order?
  *
  * @param key
  *   the first key of the order, as a document of its own
  * @param only
  *   no other key follows
  */
final case class TopKGoal(
    rows: Long,
    key: ObjectNode,
    descending: Boolean,
    nullsFirst: Boolean,
    only: Boolean
) extends Goal {
  override def writeTo(out: ObjectNode): Unit = {
    out.put("kind", "topk").put("rows", rows).set[ObjectNode]("key", key)
    out.put("descending", descending).put("nulls_first", nullsFirst).put("only", only)
    ()
  }
}

/** Which files pass a filter as a whole, if scanning them without it pays off?
  *
  * @param freed
  *   types of the columns that only the filter needs
  * @param columns
  *   number of output columns
  * @param least
  *   milliseconds that it has to save
  */
final case class SplitGoal(freed: Seq[String], columns: Int, least: Long) extends Goal {
  override def writeTo(out: ObjectNode): Unit = {
    out.put("kind", "split").put("columns", columns).put("least", least)
    val types = out.putArray("freed")
    freed.foreach(types.add)
  }
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

/** Which files hold a row for which this predicate may be true? */
final case class ConfineGoal(predicate: ObjectNode) extends Goal {
  override def writeTo(out: ObjectNode): Unit = {
    out.put("kind", "confine").set[ObjectNode]("to", predicate); ()
  }
}

/** For which of these keys do single values lie in few files? */
final case class ClusteredGoal(keys: ArrayNode) extends Goal {
  override def writeTo(out: ObjectNode): Unit = {
    out.put("kind", "clustered").set[ObjectNode]("keys", keys); ()
  }
}

/** Which files do statistics answer for, and with what?
  *
  * @param keys
  *   for each group of the listing, the number of its group of rows; None: all rows are one group
  */
final case class AggregateGoal(functions: Seq[AggregateGoal.Function], keys: Option[Seq[Int]])
    extends Goal {
  override def writeTo(out: ObjectNode): Unit = {
    out.put("kind", "aggregate")
    val list = out.putArray("aggregates")
    functions.foreach { f =>
      val node = list.addObject().put("function", f.kind.name)
      f.argument.foreach(node.set[ObjectNode]("argument", _))
    }
    keys.foreach { numbers =>
      val array = out.putArray("keys")
      numbers.foreach(n => array.add(n))
    }
  }
}

object AggregateGoal {

  /** One aggregate function.
    *
    * @param argument
    *   the document of its argument; None: it counts rows
    */
  final case class Function(kind: Kind, argument: Option[ObjectNode])

  /** A function that statistics can answer.
    *
    * @param name
    *   as messages spell it
    */
  sealed abstract class Kind(val name: String)
  case object Count extends Kind("count")
  case object Min extends Kind("min")
  case object Max extends Kind("max")
}
