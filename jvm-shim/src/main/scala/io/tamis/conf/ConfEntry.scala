package io.tamis.conf

import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.internal.SQLConf

/** One entry of the registry, conf.json.
  *
  * @param default
  *   its text; None if the conf is not set by default
  * @param unit
  *   for a time or bytes: the unit of a number without one
  * @param alternatives
  *   other keys for it, which apply if `key` is not set
  */
private[conf] final case class ConfEntry(
    key: String,
    kind: String,
    default: Option[String],
    doc: String,
    since: String,
    values: Seq[String],
    minimum: Option[String],
    unit: String,
    alternatives: Seq[String]
) {

  /** Every key that sets it, the first of them with precedence. */
  def keys: Seq[String] = key +: alternatives

  /** The text that a session sets, else the default. An empty text counts as not set. */
  def text(conf: SQLConf): Option[String] = keys.iterator
    .map(k => Option(conf.getConfString(k, null)))
    .collectFirst { case Some(text) => text }
    .filter(_.nonEmpty)
    .orElse(default)

  /** The number in a text, in milliseconds for a time and in bytes for bytes. */
  def number(text: String): Long = kind match {
    case "time"  => JavaUtils.timeStringAs(withUnit(text), TimeUnit.MILLISECONDS)
    case "bytes" => JavaUtils.byteStringAsBytes(withUnit(text))
    case _       => text.trim.toInt.toLong
  }

  private def withUnit(text: String): String = {
    val trimmed = text.trim
    if (trimmed.lastOption.exists(_.isDigit)) trimmed + unit else trimmed
  }

  def allows(text: String): Boolean = kind match {
    case "boolean"                => text.trim.toBooleanOption.isDefined
    case "enum"                   => values.contains(text)
    case "int" | "time" | "bytes" =>
      Try(number(text)).toOption.exists(n => minimum.forall(m => number(m) <= n))
    case _ => true
  }

  /** The sentence that names the allowed values. */
  def requirement: String = {
    val least = minimum.fold("")(m => s" of at least $m")
    val example = default.fold("")(d => s", such as $d")
    val what = kind match {
      case "boolean" => "true or false"
      case "enum"    => s"one of ${values.sorted.mkString(", ")}"
      case "time"    => s"a time$least$example"
      case "bytes"   => s"a size$least$example"
      case "int"     => s"a whole number$least"
      case _         => s"a $kind$least"
    }
    s"$key must be $what."
  }
}

private[conf] object ConfEntry {
  private val Resource = "/io/tamis/conf.json"

  /** Every entry, in the order of conf.json. */
  lazy val all: Seq[ConfEntry] = {
    val stream = getClass.getResourceAsStream(Resource)
    try new ObjectMapper().readTree(stream).elements.asScala.map(of).toSeq
    finally stream.close()
  }

  private def of(e: JsonNode): ConfEntry = ConfEntry(
    e.get("key").asText,
    e.get("type").asText,
    text(e, "default"),
    e.get("doc").asText,
    e.get("since").asText,
    texts(e, "values"),
    text(e, "min"),
    text(e, "unit").getOrElse(""),
    texts(e, "alternatives")
  )

  private def text(e: JsonNode, field: String): Option[String] =
    Option(e.get(field)).filterNot(_.isNull).map(_.asText)

  private def texts(e: JsonNode, field: String): Seq[String] =
    e.path(field).elements.asScala.map(_.asText).toSeq
}
