package io.tamis.listing

/** Quotes the name of a column for those interfaces of Spark that parse it. */
object QuotedName {
  def apply(name: String): String = "`" + name.replace("`", "``") + "`"
}
