package io.tamis.planning

import io.tamis.wire.Named

/** The result of the audit of one scan (spark.tamis.audit).
  *
  * @param files
  *   how many files the audit read
  * @param text
  *   which rows disagree, or why the audit failed
  */
final case class AuditResult(outcome: AuditOutcome, files: Long, text: Option[String])

object AuditResult {

  /** Combines the checks of one scan: the worst outcome counts. */
  def of(checks: Seq[AuditResult]): Option[AuditResult] =
    AuditOutcome.worstFirst
      .flatMap(outcome => checks.find(_.outcome == outcome))
      .headOption
      .map(_.copy(files = checks.map(_.files).sum))
}

/** @param name
  *   as metrics and the history spell it
  */
sealed abstract class AuditOutcome(val name: String) extends Named

object AuditOutcome {
  case object Passed extends AuditOutcome("passed")
  case object Disagreement extends AuditOutcome("disagreement")

  /** The audit could not run. */
  case object Failed extends AuditOutcome("failed")

  val worstFirst: Seq[AuditOutcome] = Seq(Disagreement, Failed, Passed)
}
