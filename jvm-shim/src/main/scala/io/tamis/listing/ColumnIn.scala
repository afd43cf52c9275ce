package io.tamis.listing

import org.apache.spark.sql.connector.expressions.{Literal => V2Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}

/** A run-time filter of Spark of the form `column IN (values)`: the name of the column, and the
  * values in Catalyst's own representation.
  */
object ColumnIn {
  def unapply(predicate: V2Predicate): Option[(String, Seq[Any])] = predicate.children.toSeq match {
    case (r: NamedReference) +: values if predicate.name == "IN" && r.fieldNames.length == 1 =>
      val known = values.collect { case l: V2Literal[_] => l.value: Any }
      Option.when(known.size == values.size)(r.fieldNames.head -> known)
    case _ => None
  }
}
