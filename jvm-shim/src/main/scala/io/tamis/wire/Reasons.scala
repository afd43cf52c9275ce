package io.tamis.wire

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.matching.Regex

import com.fasterxml.jackson.databind.JsonNode

/** Why something was not pruned, not exact or left alone.
  *
  * @param fix
  *   what to do; None: nothing
  */
final case class Reason(code: String, text: String, fix: Option[String]) {
  def sentence: String = text + fix.fold("")(": " + _)
}

/** The registry of reasons, read from reasons.json, which Python reads too. */
object Reasons {
  private val Resource = "/io/tamis/reasons.json"
  private val Braces = """\{\{|\}\}|\{(\w+)\}""".r

  private lazy val kinds: Map[String, JsonNode] = {
    val stream = getClass.getResourceAsStream(Resource)
    try Messages.mapper.readTree(stream).elements.asScala.map(k => k.get("code").asText -> k).toMap
    finally stream.close()
  }

  /** The reason of that code with these arguments: tamis.reasons.reason is its twin. Total: a query
    * does not fail for a sentence. Of a code that is not registered it is the code, and a test
    * holds that there is none.
    */
  def apply(code: String, arguments: (String, String)*): Reason = {
    val named = arguments.toMap
    def text(field: String): Option[String] =
      known(code).flatMap(k => Option(k.get(field))).filterNot(_.isNull).map { template =>
        filled(template.asText, named)
      }
    Reason(code, text("text").getOrElse(code), text("fix").filter(_.nonEmpty))
  }

  private def known(code: String): Option[JsonNode] = Try(kinds).toOption.flatMap(_.get(code))

  /** A template as Python's str.format reads it: {name} is an argument, {{ and }} are braces. */
  private def filled(template: String, named: Map[String, String]): String =
    Braces.replaceAllIn(
      template,
      found =>
        Regex.quoteReplacement(found.matched match {
          case "{{" => "{"
          case "}}" => "}"
          case _    => named.getOrElse(found.group(1), "?")
        })
    )
}
