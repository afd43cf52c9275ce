package io.tamis.wire

import scala.jdk.CollectionConverters._
import scala.util.matching.Regex

import com.fasterxml.jackson.databind.JsonNode

/** Why something was not pruned, not exact or left alone.
  *
  * @param fix
  *   what to do; None: nothing
  */
final case class Reason(code: String, text: String, fix: Option[String])

/** The registry of reasons, read from reasons.json, which Python reads too. */
object Reasons {
  private val Resource = "/io/tamis/reasons.json"
  private val Braces = """\{\{|\}\}|\{(\w+)\}""".r

  private lazy val kinds: Map[String, JsonNode] = {
    val stream = getClass.getResourceAsStream(Resource)
    try Messages.mapper.readTree(stream).elements.asScala.map(k => k.get("code").asText -> k).toMap
    finally stream.close()
  }

  /** The reason of that code with these arguments: tamis.reasons.reason is its twin. */
  def apply(code: String, arguments: (String, String)*): Reason = {
    val kind = kinds(code)
    val named = arguments.toMap
    def text(field: String): Option[String] =
      Option(kind.get(field)).filterNot(_.isNull).map(t => filled(t.asText, named))
    Reason(code, text("text").getOrElse(""), text("fix").filter(_.nonEmpty))
  }

  /** A template as Python's str.format reads it: {name} is an argument, {{ and }} are braces. */
  private def filled(template: String, named: Map[String, String]): String =
    Braces.replaceAllIn(
      template,
      found =>
        Regex.quoteReplacement(found.matched match {
          case "{{" => "{"
          case "}}" => "}"
          case _    => named(found.group(1))
        })
    )
}
