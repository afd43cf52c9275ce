package io.tamis.planning

import io.tamis.runtime.SampledBoundary
import io.tamis.wire.{PlanAnswer, Reason}
import org.apache.spark.sql.catalyst.expressions.Expression

/** What a scan is for, as far as its place in the plan shows it: derived by rules before the scan
  * is built.
  *
  * @param within
  *   the scan reads only these files, whatever its filters. Their listing is the one that the rule
  *   used, so that rule and scan refer to the same files. None: any file of the table
  * @param goals
  *   the goals that rules set, in their order
  * @param subqueryAt
  *   one flag per conjunct of the filter, in order: whether it has a scalar subquery; empty: such
  *   conjuncts come last
  * @param implied
  *   predicates that every needed row satisfies: the reader may leave out other rows. Their columns
  *   are matched by name, not by attribute id
  * @param inRecursion
  *   the scan is part of a recursive query, whose steps Spark plans one by one from the optimized
  *   plan: it takes no run-time filters
  * @param filterUses
  *   the rules of Spark that may look for a filter over the scan once it is built
  * @param leftToBloomFilters
  *   names of columns that the scan does not offer to dynamic partition pruning
  * @param groupedBy
  *   names of partition columns: a task reads all rows with the same values of them; empty: tasks
  *   are formed as in Spark
  * @param sortedBy
  *   the order of the rows of each of these tasks; None: it is not known
  * @param boundary
  *   shows, when the scan runs, which of its rows the query needs; None: all of them
  */
final case class ScanConstraints(
    within: Option[FileSelection],
    goals: Seq[GoalOutcome],
    subqueryAt: Seq[Boolean] = Nil,
    implied: Seq[Expression] = Nil,
    inRecursion: Boolean = false,
    filterUses: Seq[FilterUse] = Nil,
    leftToBloomFilters: Set[String] = Set.empty,
    groupedBy: Seq[String] = Nil,
    sortedBy: Option[FileOrder] = None,
    boundary: Option[SampledBoundary] = None
) {

  /** Adds the outcome of a goal. A goal keeps its place when it is tried again, so that a rule that
    * runs twice leaves the plan unchanged; a goal that was reached stays reached.
    */
  private def withGoal(goal: GoalOutcome): ScanConstraints =
    goals.indexWhere(_.goal == goal.goal) match {
      case -1                           => copy(goals = goals :+ goal)
      case i if goals(i).reason.isEmpty => this
      case i                            => copy(goals = goals.updated(i, goal))
    }

  /** Groups rows by these partition columns; Left: why they are not grouped. */
  def grouped(by: Either[Reason, Seq[String]], goal: ScanGoal): ScanConstraints =
    withGoal(GoalOutcome(goal, by.left.toOption)).copy(groupedBy = by.getOrElse(groupedBy))

  /** The rows of each group are in this order; Left: why that is not known. */
  def ordered(by: Either[Reason, FileOrder], goal: ScanGoal): ScanConstraints =
    withGoal(GoalOutcome(goal, by.left.toOption)).copy(sortedBy = by.toOption.orElse(sortedBy))

  /** Adds the outcome of a goal: the files chosen for it, or why it leaves them as they were. */
  def confined(goal: ScanGoal, files: Either[Reason, FileSelection]): ScanConstraints =
    withGoal(GoalOutcome(goal, files.left.toOption)).copy(within = files.toOption.orElse(within))

  def bounded(by: Option[SampledBoundary]): ScanConstraints = copy(boundary = by)

  def withImplied(more: Seq[Expression]): ScanConstraints = copy(implied = implied ++ more)
}

object ScanConstraints {
  val unknown: ScanConstraints = ScanConstraints(None, Nil)
}

/** What a rule chooses the files of a scan for.
  *
  * @param text
  *   the goal as users write it
  */
sealed abstract class ScanGoal(val text: String)

object ScanGoal {
  final case class Limit(rows: Long) extends ScanGoal(s"LIMIT $rows")
  final case class First(rows: Long, order: String) extends ScanGoal(s"first $rows by $order")

  /** The scan reads a sample, which shows which files hold the rows that are needed.
    *
    * @param rows
    *   the needed rows
    */
  final case class Sample(rows: String) extends ScanGoal(s"sample for $rows")
  final case class Join(key: String) extends ScanGoal(s"JOIN ON $key")

  /** @param functions
    *   with the source of the answer, if there is one
    */
  final case class Aggregate(functions: String) extends ScanGoal(functions)

  /** Each task reads whole groups of rows, so that Spark needs no exchange. */
  final case class Groups(columns: Seq[String])
      extends ScanGoal(s"one task for each ${columns.mkString(", ")}")

  /** The rows of each task are sorted, so that Spark need not sort them. */
  final case class Order(columns: Seq[String])
      extends ScanGoal(s"rows of each task sorted by ${columns.mkString(", ")}")

  /** The scan is one of the two parts of a split scan. */
  case object Split extends ScanGoal("filter only files that need it")
}

/** The outcome of one goal, for explanations.
  *
  * @param reason
  *   why the goal had no effect; None: the files were chosen for it
  */
final case class GoalOutcome(goal: ScanGoal, reason: Option[Reason]) {
  def text: String = goal.text
}

/** The planner's answer to a goal, before the scan is built.
  *
  * @param asked
  *   the files of the question: those of the partitions that match
  * @param filters
  *   the filters of the question: the others are true for every row of these partitions
  */
final case class GoalAnswer(asked: FileSelection, filters: Seq[Expression], answer: PlanAnswer)
