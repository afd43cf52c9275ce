package io.tamis.conf

import org.apache.spark.sql.internal.SQLConf

/** A conf with values of the type A. The build generates one for each entry of conf.json.
  *
  * @param default
  *   its text; None if the conf is not set by default
  * @param alternatives
  *   other keys for it, which apply if `key` is not set
  */
private[conf] final case class ConfEntry[A](
    key: String,
    values: ConfType[A],
    default: Option[String],
    doc: String,
    since: String,
    alternatives: Seq[String] = Nil
) {

  /** The value in a session. */
  def apply(conf: SQLConf): A = values.read(text(conf))

  /** Every key that sets it, the first of them with precedence. */
  def keys: Seq[String] = key +: alternatives

  /** The sentence that names the allowed values. */
  def requirement: String = s"$key must be ${values.allowed(default)}."

  /** The text that a session sets, else the default. An empty text counts as not set. */
  private def text(conf: SQLConf): Option[String] = keys.iterator
    .map(k => Option(conf.getConfString(k, null)))
    .collectFirst { case Some(text) => text }
    .filter(_.nonEmpty)
    .orElse(default)
}
