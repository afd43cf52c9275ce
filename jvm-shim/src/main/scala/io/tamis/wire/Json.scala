package io.tamis.wire

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import org.apache.spark.sql.types.StructType

/** Writes Scala values as JSON: null and None as null, Seq as an array, Map and case class as an
  * object, a schema as its text in JSON, [[Named]] as its name.
  *
  * jackson-module-scala, which ships with Spark, would do this by reflection. It writes an ordinary
  * question in 8 µs instead of 13 µs, but delays the first query by 0.27 s (0.15 s to write, 0.12 s
  * to read, measured on 4.1.3), and reads the numbers of an Option[Long] as Integer.
  */
object Json {
  private val nodes = JsonNodeFactory.instance

  /** An object with these fields, in this order. */
  def obj(fields: (String, Any)*): ObjectNode = put(nodes.objectNode(), fields: _*)

  /** Adds fields to an object, and returns it. */
  def put(out: ObjectNode, fields: (String, Any)*): ObjectNode = {
    fields.foreach { case (name, value) => out.set[JsonNode](name, node(value)) }
    out
  }

  /** The parameters of a case class, under their names in snake case. */
  def fields(of: Product): Seq[(String, Any)] =
    of.productElementNames.map(inSnakeCase).zip(of.productIterator).toSeq

  private def inSnakeCase(name: String): String =
    name.flatMap(c => if (c.isUpper) s"_${c.toLower}" else c.toString)

  def text(value: Any): String = Messages.mapper.writeValueAsString(node(value))

  private def node(value: Any): JsonNode = value match {
    case null | None                   => nodes.nullNode
    case Some(v)                       => node(v)
    case n: JsonNode                   => n
    case s: String                     => nodes.textNode(s)
    case b: Boolean                    => nodes.booleanNode(b)
    case i: Int                        => nodes.numberNode(i)
    case l: Long                       => nodes.numberNode(l)
    case d: Double                     => nodes.numberNode(d)
    case t: StructType                 => nodes.textNode(t.json)
    case named: Named                  => nodes.textNode(named.name)
    case m: scala.collection.Map[_, _] => obj(m.toSeq.map { case (k, v) => k.toString -> v }: _*)
    case s: Iterable[_]                =>
      val out = nodes.arrayNode()
      s.foreach(v => out.add(node(v)))
      out
    case p: Product => obj(fields(p): _*)
    case other      => throw new IllegalArgumentException(s"${other.getClass} has no form in JSON")
  }
}
