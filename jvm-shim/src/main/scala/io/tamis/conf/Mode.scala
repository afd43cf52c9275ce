package io.tamis.conf

/** What tamis does with the queries of a session. */
sealed abstract class Mode(val name: String)

object Mode {

  /** Skip files and drop proven filters. */
  case object Apply extends Mode("apply")

  /** Decide and report which files could be skipped, but read the files that plain Spark reads, and
    * keep every filter. Scans of Parquet still appear in the plan as scans of tamis.
    */
  case object Observe extends Mode("observe")

  /** Take no part in planning. */
  case object Off extends Mode("off")

  def named(name: String): Mode = Seq(Apply, Observe, Off)
    .find(_.name == name)
    .getOrElse(throw new IllegalArgumentException(s"$name is not a mode"))
}
