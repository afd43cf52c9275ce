package io.tamis.source

import io.tamis.wire.{PlanAnswer, Reason}
import org.apache.spark.sql.catalyst.expressions.Expression

/** What a scan is for, as far as its place in the plan tells: found by rules before it is built.
  *
  * @param within
  *   the scan reads no file but these, whatever its filters. Their listing is that of the rule, so
  *   that both speak of the same files. None: any file of the table
  * @param goals
  *   what rules wanted, in their order
  * @param subqueryAt
  *   of the conjuncts of the filter, in order, which have a scalar subquery; empty: only the last
  * @param implied
  *   every row that is needed passes these: the reader may leave out others. Columns are what
  *   counts in them, and not the ids of attributes
  * @param tellsOthers
  *   its rows are joined, so that they may tell another scan what to read when the query runs
  */
final case class Purpose(
    within: Option[Kept],
    goals: Seq[GoalOutcome],
    subqueryAt: Seq[Boolean] = Nil,
    implied: Seq[Expression] = Nil,
    tellsOthers: Boolean = false
) {

  /** A goal that was tried before is told once, as what came of it last. */
  def withGoal(goal: GoalOutcome): Purpose =
    goals.find(_.text == goal.text) match {
      case Some(before) if before.reason.isEmpty => this // it was reached, and was tried again
      case _                                     =>
        copy(goals = goals.filterNot(_.text == goal.text) :+ goal)
    }
}

object Purpose {
  val unknown: Purpose = Purpose(None, Nil)
}

/** What became of one goal, for whoever asks why.
  *
  * @param text
  *   the goal as people write it: LIMIT 10
  * @param reason
  *   why nothing came of it; None: the files were chosen for it
  */
final case class GoalOutcome(text: String, reason: Option[Reason])

/** What the planner found out before a scan is built.
  *
  * @param asked
  *   the files in question: those of the partitions that match
  * @param filters
  *   the filters in question: the others are true of every row of these partitions
  */
final case class GoalAnswer(asked: Kept, filters: Seq[Expression], answer: PlanAnswer)
