package io.tamis.wire

/** What statistics prove about a predicate and the rows of a file (tamis.evaluation.verdict).
  *
  * @param name
  *   as messages and `tamis_files` spell it
  */
sealed abstract class Verdict(val name: String) extends Named

object Verdict {
  case object NoRow extends Verdict("none")
  case object SomeRows extends Verdict("some")
  case object AllRows extends Verdict("all")

  /** Throws PlannerFailure if no verdict has this name. */
  def of(name: String): Verdict = Named.find(Seq(NoRow, SomeRows, AllRows), name, "verdict")
}
