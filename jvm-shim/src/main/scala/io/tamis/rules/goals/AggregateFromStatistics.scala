package io.tamis.rules.goals

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.listing.{GroupNumbers, Listing}
import io.tamis.planning.{FileSelection, ScanGoal, ScanPlanner}
import io.tamis.runtime.SampledBoundary
import io.tamis.wire.{AnsweredAggregates, GoalReader, Reason, Reasons}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.internal.SQLConf

/** Answers aggregates over a scan from statistics for two kinds of files: those whose rows all
  * satisfy the filters, and those whose recorded groups each pass or fail as a whole. Only the
  * other files are read. Of these, MIN and MAX may need only some: [[AggregateSample]].
  *
  * Spark's own rule for this, SupportsPushDownAggregates, is not used: it works for all files of a
  * scan or for none, and over no file it answers COUNT with NULL (seen on 4.1).
  */
object AggregateFromStatistics extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean = TamisConf.aggregatesEnabled(conf)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = plan.transformDown {
    case StatisticsAggregate(wanted) => answered(wanted)
  }

  private def answered(wanted: StatisticsAggregate): LogicalPlan = {
    var numbers: Option[GroupNumbers] = None
    val sample = new AggregateSample(wanted)
    val reply = ScanPlanner.askOf(wanted.scan.table, wanted.scan.conjuncts) { listing =>
      numbers = wanted.numbersIn(listing)
      wanted.goal(numbers, sample.goal)
    }
    def unanswered(reason: Reason) = {
      if (Recordable(reason.code)) wanted.original.setTagValue(Unanswered, wanted)
      wanted.scan.scannedFor(wanted.original, ScanGoal.Aggregate(wanted.text), Left(reason))
    }
    reply match {
      case Left(reason)      => if (wanted.isOfStatistics) unanswered(reason) else wanted.original
      case Right(goalAnswer) =>
        val listing = goalAnswer.asked.listing
        val functions = wanted.parts.map(part => part.kind -> part.dataType)
        val columns = wanted.columns.map(_.dataType)
        GoalReader.aggregates(goalAnswer.answer, listing.size, functions, columns) match {
          case None =>
            wanted.original.setTagValue(Unanswered, wanted)
            wanted.original
          case Some(Left(reason))  => unanswered(reason)
          case Some(Right(answer)) =>
            val first = answer.sample.filterNot(_ => sample.isFruitless(listing))
            if (first.isEmpty && answer.sample.nonEmpty && !answer.isPartial)
              unanswered(Reasons("TOPK_SAMPLE_TOO_SMALL", "rows" -> "1"))
            else {
              val boundary = first.map(f => sample.boundary(listing, FileSelection.of(listing, f)))
              combined(wanted, listing, numbers, answer.copy(sample = first), boundary)
            }
        }
    }
  }

  private def combined(
      wanted: StatisticsAggregate,
      listing: Listing,
      numbers: Option[GroupNumbers],
      answer: AnsweredAggregates,
      boundary: Option[SampledBoundary]
  ): LogicalPlan = {
    def rewrite = new AggregateRewrite(wanted, answer.groups, numbers)
    def confined(plan: LogicalPlan) = wanted.scan.scannedFor(
      plan,
      ScanGoal.Aggregate(s"${wanted.text}: ${answer.text}"),
      Right(FileSelection.of(listing, answer.files)),
      boundary
    )
    if (TamisConf.mode(conf) == Mode.Observe) confined(wanted.original)
    else if (!answer.files.isEmpty) confined(rewrite.withRest)
    else {
      val whole = rewrite.answered
      whole.setTagValue(Answered, AnsweredByStatistics(wanted, answer))
      whole
    }
  }

  /** The codes of reasons that recorded aggregates would remove. */
  private val Recordable =
    Set("AGGREGATE_NOT_RECORDED", "AGGREGATE_NOT_CERTAIN", "AGGREGATE_NOT_COVERED")

  /** Tag of an aggregate that statistics do not answer, but that an index could record. It is the
    * logical link of Spark's physical aggregates.
    */
  val Unanswered: TreeNodeTag[StatisticsAggregate] = TreeNodeTag("io.tamis.unanswered")

  /** Tag of the plan that replaces an aggregate for which no file has to be read. */
  val Answered: TreeNodeTag[AnsweredByStatistics] = TreeNodeTag("io.tamis.answered")
}

/** An aggregate whose scan is no longer in the plan, for explanations.
  *
  * @param files
  *   how many files statistics answered for
  */
final case class AnsweredByStatistics(table: String, goal: String, files: Int)

object AnsweredByStatistics {
  def apply(wanted: StatisticsAggregate, answer: AnsweredAggregates): AnsweredByStatistics =
    AnsweredByStatistics(wanted.scan.table.name(), wanted.text, answer.covered)
}
