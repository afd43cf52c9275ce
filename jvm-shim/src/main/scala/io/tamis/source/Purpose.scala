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
  * @param inRecursion
  *   it is part of a recursive query, whose steps Spark plans one by one from the optimized plan:
  *   it takes no run-time filters
  * @param filterUses
  *   the rules of Spark that may look for a filter over the scan once it is built
  */
final case class Purpose(
    within: Option[Kept],
    goals: Seq[GoalOutcome],
    subqueryAt: Seq[Boolean] = Nil,
    implied: Seq[Expression] = Nil,
    inRecursion: Boolean = false,
    filterUses: Seq[FilterUse] = Nil
) {

  /** With the outcome of a goal. A goal keeps its place when it is tried again, so that a rule that
    * runs twice leaves the plan as it is; one that was reached stays reached.
    */
  def withGoal(goal: GoalOutcome): Purpose =
    goals.indexWhere(_.text == goal.text) match {
      case -1                           => copy(goals = goals :+ goal)
      case i if goals(i).reason.isEmpty => this
      case i                            => copy(goals = goals.updated(i, goal))
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
