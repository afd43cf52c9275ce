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
  */
final case class RemoteRequest(
    columns: StructType,
    filters: Int = 0,
    required: Seq[Expression] = Nil,
    optional: Seq[Expression] = Nil,
    keys: Seq[Expression] = Nil,
    limit: Option[Int] = None
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
    (filters("required", required) ++ filters("filters", optional) ++ filters("keys", keys) ++
      limit
        .filter(_ => optional.isEmpty && keys.isEmpty)
        .map(n => "tamis.limit" -> n.toString)).toMap
  }
}
