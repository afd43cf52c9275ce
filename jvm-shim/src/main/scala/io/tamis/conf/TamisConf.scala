package io.tamis.conf

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.internal.SQLConf

/** The confs of tamis with typed values. `TamisConf.joinsEnabled(conf)` is the value in a session.
  * Keys, defaults and allowed values come from one registry (conf.json, which Python also reads).
  */
object TamisConf {

  /** A conf whose values have the type A. */
  final class Typed[A] private[TamisConf] (
      private[conf] val entry: ConfEntry,
      read: Option[String] => A
  ) {
    def apply(conf: SQLConf): A = read(entry.text(conf))
  }

  private val entries: Map[String, ConfEntry] = ConfEntry.all.map(e => e.key -> e).toMap
  private val typed = mutable.Buffer.empty[Typed[_]]

  private def conf[A](key: String)(read: Option[String] => A): Typed[A] = {
    val added = new Typed(entries(key), read)
    typed += added
    added
  }
  private def boolean(key: String): Typed[Boolean] = conf(key)(_.exists(_.trim.toBoolean))
  private def text(key: String): Typed[Option[String]] = conf(key)(identity)
  private def number(key: String): Typed[Long] = conf(key)(_.fold(0L)(entries(key).number))
  private def list(key: String): Typed[Seq[String]] =
    conf(key)(_.toSeq.flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty))

  private val enabled = boolean("spark.tamis.enabled")
  private val ownMode = conf("spark.tamis.mode")(_.fold[Mode](Mode.Apply)(Mode.named))

  val timeoutMs: Typed[Long] = number("spark.tamis.timeout")
  val startTimeoutMs: Typed[Long] = number("spark.tamis.startTimeout")
  val python: Typed[Option[String]] = text("spark.tamis.python")
  val indexEnabled: Typed[Boolean] = boolean("spark.tamis.index.enabled")
  val indexLocation: Typed[Option[String]] = text("spark.tamis.index.location")
  val cacheLocation: Typed[Option[String]] = text("spark.tamis.cache.location")
  val declarations: Typed[Seq[String]] = list("spark.tamis.declarations")
  val impliedFiltersEnabled: Typed[Boolean] = boolean("spark.tamis.impliedFilters.enabled")
  val rowGroupsEnabled: Typed[Boolean] = boolean("spark.tamis.rowGroups.enabled")
  val fileIndexSwapEnabled: Typed[Boolean] = boolean("spark.tamis.fileIndexSwap.enabled")
  val limitEnabled: Typed[Boolean] = boolean("spark.tamis.limit.enabled")
  val topKEnabled: Typed[Boolean] = boolean("spark.tamis.topK.enabled")
  val residualSplitEnabled: Typed[Boolean] = boolean("spark.tamis.residualSplit.enabled")
  val residualSplitMinSavedMs: Typed[Long] = number("spark.tamis.residualSplit.minSaved")
  val joinsEnabled: Typed[Boolean] = boolean("spark.tamis.joins.enabled")
  val runtimeFiltersEnabled: Typed[Boolean] = boolean("spark.tamis.runtimeFilters.enabled")
  val aggregatesEnabled: Typed[Boolean] = boolean("spark.tamis.aggregates.enabled")
  val historyEnabled: Typed[Boolean] = boolean("spark.tamis.history.enabled")
  val historyLocation: Typed[Option[String]] = text("spark.tamis.history.location")
  val historyMaxAgeMs: Typed[Long] = number("spark.tamis.history.maxAge")
  val historyMaxBytes: Typed[Long] = number("spark.tamis.history.maxSize")
  val requireFilter: Typed[Seq[String]] = list("spark.tamis.requireFilter")
  val assertPruned: Typed[Seq[String]] =
    conf("spark.tamis.assertPruned")(_.toSeq.flatMap(SqlList.parts))
  val remoteVerify: Typed[Boolean] = boolean("spark.tamis.remote.verify")
  val auditFiles: Typed[Int] = conf("spark.tamis.audit")(_.fold(0)(_.trim.toInt))

  /** The confs above, for a test that they are those of the registry. */
  private[conf] def all: Seq[Typed[_]] = typed.toSeq

  /** The mode of a session: `enabled=false` and `mode=off` are the same. */
  def mode(conf: SQLConf): Mode = if (enabled(conf)) ownMode(conf) else Mode.Off

  /** Makes the mode of a session Off. */
  def turnOff(conf: SQLConf): Unit = conf.setConfString(enabled.entry.key, "false")

  /** A conf that switches tamis or its use of indexes off, and the value with which it does not.
    *
    * @param on
    *   that value
    */
  final case class OffSwitch(key: String, value: String, on: String)

  /** What makes the mode of a session Off; None if it is not. */
  def offSwitch(conf: SQLConf): Option[OffSwitch] =
    if (ownMode(conf) == Mode.Off)
      Some(OffSwitch(ownMode.entry.key, Mode.Off.name, Mode.Apply.name))
    else Option.unless(enabled(conf))(OffSwitch(enabled.entry.key, "false", "true"))

  /** What stops tamis from using indexes in a session; None if it may use them. */
  def indexOff(conf: SQLConf): Option[OffSwitch] =
    Option.unless(indexEnabled(conf))(OffSwitch(indexEnabled.entry.key, "false", "true"))

  /** Registers every key with Spark, so that SET rejects a value that is not allowed. */
  lazy val register: Unit = ConfEntry.all.foreach { e =>
    e.keys.foreach { key =>
      val isAlternative = key != e.key
      val doc = if (isAlternative) s"Another name of ${e.key}." else e.doc
      ConfEntries.register(
        key,
        e.kind,
        e.default.filterNot(_ => isAlternative).orNull,
        doc,
        e.since,
        if (isAlternative) Array.empty else e.alternatives.toArray,
        isAlternative,
        text => e.allows(text),
        e.requirement
      )
    }
  }

  /** Returns the confs that an application was started with, for code that runs before there is a
    * session. A value that is not allowed counts as not set; the session reports it.
    *
    * @param valueOf
    *   the text of a conf
    */
  def ofApplication(valueOf: String => Option[String]): SQLConf = {
    val conf = new SQLConf
    ConfEntry.all.flatMap(_.keys).foreach { key =>
      Try(valueOf(key).foreach(conf.setConfString(key, _)))
    }
    conf
  }
}
