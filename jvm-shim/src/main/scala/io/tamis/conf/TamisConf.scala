package io.tamis.conf

import scala.util.Try

import org.apache.spark.sql.internal.SQLConf

/** The confs of tamis with typed values. `TamisConf.joinsEnabled(conf)` is the value in a session.
  * The build generates the accessors from one registry (conf.json, which Python also reads).
  */
object TamisConf extends ConfAccessors {

  /** The mode of a session: `enabled=false` and `mode=off` are the same. */
  def mode(conf: SQLConf): Mode = if (enabled(conf)) ownMode(conf) else Mode.Off

  private def ownMode(conf: SQLConf): Mode = Mode.named(modeName(conf))

  /** Whether guards check the queries of a session. */
  def isGuarded(conf: SQLConf): Boolean =
    (requireFilter(conf).nonEmpty || assertPruned(conf).nonEmpty) && mode(conf) == Mode.Apply

  /** Makes the mode of a session Off. */
  def turnOff(conf: SQLConf): Unit = conf.setConfString(enabled.key, "false")

  /** A conf that switches tamis or its use of indexes off, and the value with which it does not.
    *
    * @param on
    *   that value
    */
  final case class OffSwitch(key: String, value: String, on: String)

  /** What makes the mode of a session Off; None if it is not. */
  def offSwitch(conf: SQLConf): Option[OffSwitch] =
    if (ownMode(conf) == Mode.Off)
      Some(OffSwitch(modeName.key, Mode.Off.name, Mode.Apply.name))
    else Option.unless(enabled(conf))(OffSwitch(enabled.key, "false", "true"))

  /** What stops tamis from using indexes in a session; None if it may use them. */
  def indexOff(conf: SQLConf): Option[OffSwitch] =
    Option.unless(indexEnabled(conf))(OffSwitch(indexEnabled.key, "false", "true"))

  /** Registers every key with Spark, so that SET rejects a value that is not allowed. */
  lazy val register: Unit = entries.foreach { e =>
    e.keys.foreach { key =>
      val isAlternative = key != e.key
      val doc = if (isAlternative) s"Another name of ${e.key}." else e.doc
      ConfEntries.register(
        key,
        e.values match {
          case ConfType.Bool     => ConfEntries.Check.BOOLEAN
          case _: ConfType.Whole => ConfEntries.Check.INT
          case _                 => ConfEntries.Check.TEXT
        },
        e.default.filterNot(_ => isAlternative).orNull,
        doc,
        e.since,
        if (isAlternative) Array.empty else e.alternatives.toArray,
        isAlternative,
        text => e.values.allows(text),
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
    entries.flatMap(_.keys).foreach { key =>
      Try(valueOf(key).foreach(conf.setConfString(key, _)))
    }
    conf
  }
}
