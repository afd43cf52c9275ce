package io.tamis.remote

import io.tamis.wire.{ExpressionWriter, Json}

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types.StructType

/** What a scan needs of a remote table.
  *
  * @param filters
  *   how many filters the query has for the table
  * @param required
  *   filters that the source applies exactly, so Spark does not
  * @param optional
  *   filters that the source may apply
  * @param keys
  *   lists of join keys, each as an IN over a column
  * @param order
  *   the order in which the query needs the first `limit` rows; empty: in any
  * @param verify
  *   whether tasks check the rows for filters that only the source knows
  */
final case class RemoteRequest(
    columns: StructType,
    filters: Int = 0,
    required: Seq[Expression] = Nil,
    optional: Seq[Expression] = Nil,
    keys: Seq[Expression] = Nil,
    limit: Option[Int] = None,
    order: Seq[RemoteOrder] = Nil,
    verify: Boolean = false
) {

  /** The options that hand the request to Python (tamis.remote.planning).
    *
    * @param schema
    *   of the table
    */
  def options(schema: StructType): Map[String, String] = {
    val writer = new ExpressionWriter(ExpressionWriter.ambiguousPaths(schema))
    def filters(name: String, some: Seq[Expression]): Option[(String, String)] =
      Option.when(some.nonEmpty)(s"tamis.$name" -> Json.text(writer.writeAll(some)))
    // the first rows that pass a filter may not be among the first rows
    val first = limit.filter(_ => optional.isEmpty && keys.isEmpty).toSeq.flatMap { n =>
      ("tamis.limit" -> n.toString) +:
        Option.when(order.nonEmpty)("tamis.order" -> Json.text(order)).toSeq
    }
    val checks = Option.when(verify)("tamis.verify" -> "true")
    (filters("required", required) ++ filters("filters", optional) ++ filters("keys", keys) ++
      first ++ checks).toMap
  }
}

/** A key of ORDER BY. */
final case class RemoteOrder(column: String, isDescending: Boolean, nullsFirst: Boolean) {
  def text: String =
    s"$column ${if (isDescending) "DESC" else "ASC"} NULLS ${if (nullsFirst) "FIRST" else "LAST"}"
}
