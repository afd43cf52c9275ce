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

/** Which files do statistics answer for, and with what?
  *
  * @param keys
  *   for every group of the listing the number of its group of rows; None: all rows are one group
  */
final case class AggregateGoal(functions: Seq[AggregateGoal.Function], keys: Option[Seq[Int]])
    extends Goal {
  override def writeTo(out: ObjectNode): Unit = {
    out.put("kind", "aggregate")
    val list = out.putArray("aggregates")
    functions.foreach { f =>
      val node = list.addObject().put("function", f.name)
      f.argument.foreach(node.set[ObjectNode]("argument", _))
    }
    keys.foreach { numbers =>
      val array = out.putArray("keys")
      numbers.foreach(n => array.add(n))
    }
  }
}

object AggregateGoal {

  /** @param name
    *   count, min or max
    * @param argument
    *   the document of its argument; None: it counts rows
    */
  final case class Function(name: String, argument: Option[ObjectNode])
}
