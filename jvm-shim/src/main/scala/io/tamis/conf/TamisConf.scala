package io.tamis.conf

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.internal.SQLConf

/** The confs of tamis, read from one registry (conf.json, which Python also reads). */
object TamisConf {
  private val Resource = "/io/tamis/conf.json"

  /** Keys and their default text; a key without a default maps to None. */
  private lazy val defaults: Map[String, Option[String]] =
    entries.map(e => e.get("key").asText -> text(e, "default")).toMap

  private lazy val entries: Seq[JsonNode] = {
    val stream = getClass.getResourceAsStream(Resource)
    try {
      val root = new ObjectMapper().readTree(stream)
      val list = if (root.isArray) root else root.get("entries")
      list.elements.asScala.toSeq
    } finally stream.close()
  }

  /** Registers every key with Spark, so that SET rejects a value that is not allowed. */
  lazy val register: Unit = entries.foreach { e =>
    val key = e.get("key").asText
    val values =
      Option(e.get("values")).filter(_.isArray).map(_.elements.asScala.map(_.asText).toSet)
    val min = Option(e.get("min")).filter(_.isNumber).map(_.asLong)
    val requirement = (values, min) match {
      case (Some(vs), _) => s"$key must be one of ${vs.toSeq.sorted.mkString(", ")}."
      case (_, Some(m))  => s"$key must be at least $m."
      case _             => s"$key is not valid."
    }
    ConfEntries.register(
      key,
      e.get("type").asText,
      text(e, "default").orNull,
      e.get("doc").asText,
      text(e, "since").getOrElse("0.1.0"),
      value => values.forall(_.contains(value.toString)) && min.forall(_ <= value.toString.toLong),
      requirement
    )
  }

  private def text(e: JsonNode, field: String): Option[String] =
    Option(e.get(field)).filterNot(_.isNull).map(_.asText)

  private def string(conf: SQLConf, key: String): Option[String] =
    Option(conf.getConfString(key, null)).filter(_.nonEmpty).orElse(defaults.getOrElse(key, None))

  private def list(conf: SQLConf, key: String, separator: Char): Seq[String] =
    string(conf, key).toSeq.flatMap(_.split(separator)).map(_.trim).filter(_.nonEmpty)

  /** Returns the confs that an application was started with, for code that runs before there is a
    * session. A value that is not allowed counts as not set; the session reports it.
    *
    * @param valueOf
    *   the text of a conf
    */
  def ofApplication(valueOf: String => Option[String]): SQLConf = {
    val conf = new SQLConf
    defaults.keys.foreach(key => Try(valueOf(key).foreach(conf.setConfString(key, _))))
    conf
  }

  def enabled(conf: SQLConf): Boolean =
    string(conf, "spark.tamis.enabled").forall(_.toBoolean) && mode(conf) != "off"
  def mode(conf: SQLConf): String = string(conf, "spark.tamis.mode").getOrElse("apply")
  def timeoutMs(conf: SQLConf): Long =
    string(conf, "spark.tamis.timeoutMs").map(_.toLong).getOrElse(5000L)
  def startTimeoutMs(conf: SQLConf): Long =
    string(conf, "spark.tamis.startTimeoutMs").map(_.toLong).getOrElse(20000L)
  def python(conf: SQLConf): Option[String] = string(conf, "spark.tamis.python")
  def indexEnabled(conf: SQLConf): Boolean =
    string(conf, "spark.tamis.index.enabled").forall(_.toBoolean)
  def impliedFilters(conf: SQLConf): Boolean =
    string(conf, "spark.tamis.impliedFilters").forall(_.toBoolean)
  def indexLocation(conf: SQLConf): Option[String] = string(conf, "spark.tamis.index.location")
  def declarations(conf: SQLConf): Seq[String] = list(conf, "spark.tamis.declarations", ',')
  def limitEnabled(conf: SQLConf): Boolean =
    string(conf, "spark.tamis.limit.enabled").forall(_.toBoolean)
  def residualSplitEnabled(conf: SQLConf): Boolean =
    string(conf, "spark.tamis.residualSplit.enabled").forall(_.toBoolean)
  def residualSplitMinSavedMs(conf: SQLConf): Long =
    string(conf, "spark.tamis.residualSplit.minSavedMs").map(_.toLong).getOrElse(200L)
  def topKEnabled(conf: SQLConf): Boolean =
    string(conf, "spark.tamis.topK.enabled").forall(_.toBoolean)
  def joinsEnabled(conf: SQLConf): Boolean =
    string(conf, "spark.tamis.joins.enabled").forall(_.toBoolean)
  def runtimeFiltersEnabled(conf: SQLConf): Boolean =
    string(conf, "spark.tamis.runtimeFilters.enabled").forall(_.toBoolean)
  def aggregatesEnabled(conf: SQLConf): Boolean =
    string(conf, "spark.tamis.aggregates.enabled").forall(_.toBoolean)
  def fileIndexSwapEnabled(conf: SQLConf): Boolean =
    string(conf, "spark.tamis.fileIndexSwap.enabled").forall(_.toBoolean)
  def rowGroupsEnabled(conf: SQLConf): Boolean =
    string(conf, "spark.tamis.rowGroups.enabled").forall(_.toBoolean)
  def requireFilter(conf: SQLConf): Seq[String] = list(conf, "spark.tamis.requireFilter", ',')
  def assertPruned(conf: SQLConf): Seq[String] = list(conf, "spark.tamis.assertPruned", ';')
  def auditFiles(conf: SQLConf): Int = string(conf, "spark.tamis.audit").map(_.toInt).getOrElse(0)
  def historyEnabled(conf: SQLConf): Boolean =
    string(conf, "spark.tamis.history.enabled").forall(_.toBoolean)
  def historyLocation(conf: SQLConf): Option[String] = string(conf, "spark.tamis.history.location")
  def historyMaxAgeDays(conf: SQLConf): Int =
    string(conf, "spark.tamis.history.maxAgeDays").map(_.toInt).getOrElse(90)
  def historyMaxMegabytes(conf: SQLConf): Int =
    string(conf, "spark.tamis.history.maxMegabytes").map(_.toInt).getOrElse(64)
  def cacheDirectory(conf: SQLConf): Option[String] = string(conf, "spark.tamis.cache.dir")
}
