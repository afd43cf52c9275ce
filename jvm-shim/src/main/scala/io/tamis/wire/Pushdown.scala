package io.tamis.wire

/** The answer of classification for one conjunct (tamis.classification.pushdown).
  *
  * @param name
  *   as messages, reports and the history spell it
  */
sealed abstract class Pushdown(val name: String) extends Named

object Pushdown {

  /** True for every row of what the scan reads, so it leaves the plan. */
  case object Exact extends Pushdown("exact")

  /** Statistics can rule out files by it; Spark applies it to the rows of the others. */
  case object Inexact extends Pushdown("inexact")

  /** Statistics cannot use it; only Spark applies it. */
  case object Unsupported extends Pushdown("unsupported")

  /** Throws PlannerFailure if no answer has this name. */
  def of(name: String): Pushdown =
    Named.find(Seq(Exact, Inexact, Unsupported), name, "push-down")
}
