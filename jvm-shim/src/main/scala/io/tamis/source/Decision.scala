package io.tamis.source

import io.tamis.wire.{ExpressionWriter, Reason, Spent}
import org.apache.spark.sql.catalyst.expressions.Expression

/** What was decided of one conjunct of the filter over a scan. */
final case class Conjunct(
    expression: Expression,
    pushdown: String,
    reason: Option[Reason],
    prunedFiles: Option[Long]
) {
  lazy val sql: String = ExpressionWriter.sqlOf(expression)
  def isExact: Boolean = pushdown == "exact"
}

/** Each is None where it is not known of every file. */
final case class RowGroupCounts(kept: Option[Long], total: Option[Long])

/** Parts of the planning time, in milliseconds.
  *
  * @param listing
  *   Spark's list of files, and the partitions that match
  * @param question
  *   from the request to the answer, the planner's own time included
  * @param planner
  *   of the question; None: an earlier answer was remembered
  */
final case class Timing(listing: Double, question: Double, planner: Option[Spent])

/** Which files, and which bytes of them, a scan reads and which conjuncts Spark still applies.
  *
  * @param kept
  *   the files that may hold a row for which every conjunct is true
  * @param conjuncts
  *   exact: true for every row of what `kept` reads, so it leaves the plan
  * @param keptRecords
  *   rows in what is read, where the statistics tell
  * @param rowGroups
  *   how many row groups are read, of how many; None: nobody looked at them
  * @param fallbackReason
  *   why the planner was not asked or its answer not used
  * @param implied
  *   ranges of columns that follow from the residual, with which row groups and pages are skipped
  * @param observed
  *   in the mode `observe`: what would have been decided. The scan reads what plain Spark would,
  *   and everything but this field says so
  */
final case class Decision(
    kept: Kept,
    conjuncts: Seq[Conjunct],
    keptRecords: Option[Long],
    totalRecords: Option[Long],
    planningMillis: Double,
    fallbackReason: Option[Reason],
    implied: Seq[Expression] = Nil,
    rowGroups: Option[RowGroupCounts] = None,
    timing: Option[Timing] = None,
    observed: Option[Decision] = None
) {
  def isObserved: Boolean = observed.isDefined

  /** What people are shown: of a scan that only observes, what would have been decided. */
  def shown: Decision = observed.getOrElse(this)
  def fallback: Option[String] = fallbackReason.map(_.text)
  def residual: Seq[Expression] = conjuncts.filterNot(_.isExact).map(_.expression)
  def exactSql: Seq[String] = conjuncts.filter(_.isExact).map(_.sql)
  def impliedSql: Seq[String] = implied.map(ExpressionWriter.sqlOf)
  def residualSql: Seq[String] = conjuncts.filterNot(_.isExact).map(_.sql)
}
