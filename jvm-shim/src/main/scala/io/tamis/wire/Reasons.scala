package io.tamis.wire

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.matching.Regex

import com.fasterxml.jackson.databind.JsonNode

/** Why something was not pruned, is not exact, or is left to Spark.
  *
  * @param fix
  *   what to do about it; None if there is no fix
  */
final case class Reason(code: String, text: String, fix: Option[String]) {

  /** The reason and its fix. Some texts are the message of an error, which ends with a period. The
    * fix is then a sentence of its own.
    */
  def sentence: String = fix.fold(text) { advice =>
    if (text.endsWith(".")) s"$text ${advice.capitalize}." else s"$text: $advice"
  }

  /** Whether the planner gave no answer, so that nothing is known. */
  def isUnanswered: Boolean = code == "PLANNER_FAILED" || isBeforeStart

  /** Whether the query did not wait until the sidecar was ready. */
  def isBeforeStart: Boolean = code == "SIDECAR_STARTING"

  /** Whether a split scan cannot gain anything, so that there is nothing to explain. */
  def isSplitNotNeeded: Boolean = code == "SPLIT_NOT_NEEDED"
}

/** The registry of reasons, read from reasons.json, which Python also reads. */
object Reasons {

  private val Resource = "/io/tamis/reasons.json"
  private val Braces = """\{\{|\}\}|\{(\w+)\}""".r

  private lazy val kinds: Map[String, JsonNode] = {
    val stream = getClass.getResourceAsStream(Resource)
    try Messages.mapper.readTree(stream).elements.asScala.map(k => k.get("code").asText -> k).toMap
    finally stream.close()
  }

  /** Returns the reason with that code and these arguments, as tamis.reasons.reason does. Total,
    * because a query must not fail because of a message: the text of a code that is not registered
    * is the code itself. A test checks that every code is registered.
    */
  def apply(code: String, arguments: (String, String)*): Reason = {
    val named = arguments.toMap
    def text(field: String): Option[String] =
      known(code).flatMap(k => Option(k.get(field))).filterNot(_.isNull).map { template =>
        filled(template.asText, named)
      }
    Reason(code, text("text").getOrElse(code), text("fix").filter(_.nonEmpty))
  }

  /** The codes of coarse reasons. The planner may replace them with more precise ones after it has
    * looked at all files (tamis.plan.detail.reason_detail).
    */
  lazy val coarse: Set[String] = {
    val all = Try(kinds).getOrElse(Map.empty[String, JsonNode])
    all.collect { case (code, kind) if kind.path("is_coarse").asBoolean(false) => code }.toSet
  }

  private def known(code: String): Option[JsonNode] = Try(kinds).toOption.flatMap(_.get(code))

  /** Fills a template with the syntax of Python's str.format: {name} is an argument, {{ and }} are
    * braces.
    */
  private def filled(template: String, named: Map[String, String]): String =
    Braces.replaceAllIn(
      template,
      token =>
        Regex.quoteReplacement(token.matched match {
          case "{{" => "{"
          case "}}" => "}"
          case _    => named.getOrElse(token.group(1), "?")
        })
    )
}
