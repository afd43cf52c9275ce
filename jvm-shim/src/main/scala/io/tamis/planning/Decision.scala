package io.tamis.planning

import io.tamis.wire.{ExpressionWriter, Pushdown, Reason, Reasons, Spent}
import org.apache.spark.sql.catalyst.expressions.Expression

/** The decision about one conjunct of the filter over a scan.
  *
  * @param isRemembered
  *   whether it is exact because an earlier query found it true for every row of some files
  */
final case class Conjunct(
    expression: Expression,
    pushdown: Pushdown,
    reason: Option[Reason],
    prunedFiles: Option[Long],
    isRemembered: Boolean = false
) {
  lazy val sql: String = ExpressionWriter.sqlOf(expression)
  def isExact: Boolean = pushdown == Pushdown.Exact

  /** The same conjunct, left in the plan although it is true for every row that is read. */
  def leftInPlan(why: LeftInPlan): Conjunct =
    copy(pushdown = Pushdown.Inexact, reason = Some(Reasons(why.code)))

  /** Whether the conjunct is true for every row that is read, even if it stays in the plan. */
  def isProven: Boolean =
    isExact || reason.exists(r => LeftInPlan.all.exists(_.code == r.code))
}

object Conjunct {

  /** Why a remembered conjunct is exact, for users. */
  val FoundTrue: String = "an earlier scan found it true for every row"
}

/** Why a conjunct that is true for every row stays in the plan.
  *
  * @param code
  *   of the reason
  */
sealed abstract class LeftInPlan(val code: String)

object LeftInPlan {
  case object NeededByJoinRules extends LeftInPlan("FILTER_NEEDED_BY_JOIN_RULES")
  case object NeededForBuckets extends LeftInPlan("FILTER_NEEDED_FOR_BUCKETS")
  val all: Seq[LeftInPlan] = Seq(NeededByJoinRules, NeededForBuckets)
}

/** Parts of the planning time, in milliseconds.
  *
  * @param listing
  *   Spark's list of files, and the partitions that match
  * @param question
  *   from the request to the answer, including the planner's own time
  * @param planner
  *   the planner's part of `question`; None: an earlier answer was remembered
  */
final case class Timing(listing: Double, question: Double, planner: Option[Spent])

/** The files, and the bytes of them, that a scan reads, and the conjuncts that Spark still applies.
  *
  * @param kept
  *   the files that may hold a row for which every conjunct is true
  * @param conjuncts
  *   exact: true for every row of what `kept` reads, so it leaves the plan
  * @param keptRecords
  *   number of rows in what is read, if the statistics contain it
  * @param rowGroups
  *   how many row groups are read, of how many; None: row groups were not considered
  * @param fallbackReason
  *   why the planner gave no answer or its answer was not used
  * @param implied
  *   ranges of columns that follow from the residual; the reader skips row groups and pages with
  *   them
  * @param observed
  *   in the mode `observe`: the decision that would have been made. The scan then reads what plain
  *   Spark would, and all other fields describe that
  * @param rememberedFiles
  *   how many files are not kept only because an earlier query found no row in them that passes
  * @param rememberedRowGroups
  *   the same of row groups of the other files
  */
final case class Decision(
    kept: FileSelection,
    conjuncts: Seq[Conjunct],
    keptRecords: Option[Long],
    totalRecords: Option[Long],
    planningMillis: Double,
    fallbackReason: Option[Reason],
    implied: Seq[Expression] = Nil,
    rowGroups: Option[Kept] = None,
    timing: Option[Timing] = None,
    observed: Option[Decision] = None,
    rememberedFiles: Long = 0,
    rememberedRowGroups: Long = 0
) {
  def isObserved: Boolean = observed.isDefined

  /** What is left out only because an earlier query found no row in it that passes; None: nothing.
    */
  def rememberedText: Option[String] = {
    val parts = Seq(rememberedFiles -> "files", rememberedRowGroups -> "row groups")
    val texts = parts.collect { case (count, what) if count > 0 => s"$count $what" }
    Option.when(texts.nonEmpty)(texts.mkString(" and "))
  }

  /** The conjuncts that leave the plan because an earlier query found them true for every row;
    * None: there are none.
    */
  def rememberedTrueText: Option[String] = {
    val known = conjuncts.filter(c => c.isExact && c.isRemembered).map(_.sql)
    Option.when(known.nonEmpty)(known.mkString("[", ", ", "]"))
  }

  def sizes: ScanSizes = ScanSizes.of(this)
  def filesText: String = sizes.files.text.mkString

  /** The decision to show to users: for a scan that only observes, the one that would have been
    * made.
    */
  def shown: Decision = observed.getOrElse(this)
  def fallback: Option[String] = fallbackReason.map(_.text)
  def residual: Seq[Expression] = conjuncts.filterNot(_.isExact).map(_.expression)
  def exactSql: Seq[String] = conjuncts.filter(_.isExact).map(_.sql)
  def impliedSql: Seq[String] = implied.map(ExpressionWriter.sqlOf)
  def residualSql: Seq[String] = conjuncts.filterNot(_.isExact).map(_.sql)
}
