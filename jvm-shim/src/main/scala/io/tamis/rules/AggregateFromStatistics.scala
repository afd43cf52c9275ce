package io.tamis.rules

import io.tamis.conf.TamisConf
import io.tamis.source.{Kept, ScanPlanner}
import io.tamis.wire.{AnsweredAggregates, GoalReader}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.internal.SQLConf

/** COUNT, MIN and MAX over a scan: files of which every row passes the filters are answered for by
  * their statistics, and only the others are read.
  *
  * The rule of Spark for this, SupportsPushDownAggregates, is not used: it works for all files of a
  * scan or for none, and over no file it answers COUNT with NULL (seen on 4.1).
  */
object AggregateFromStatistics extends GoalRule {
  override val ruleName: String = "io.tamis.rules.AggregateFromStatistics"
  override protected def isOn(conf: SQLConf): Boolean = TamisConf.aggregatesEnabled(conf)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = plan.transformDown {
    case StatisticsAggregate(wanted) => answered(wanted)
  }

  private def answered(wanted: StatisticsAggregate): LogicalPlan = {
    var numbers: Option[GroupNumbers] = None
    val asked = ScanPlanner.askOf(wanted.scan.table, wanted.scan.conjuncts) { listing =>
      if (!wanted.isGlobal) numbers = Some(wanted.numbersIn(listing))
      wanted.goal(numbers)
    }
    asked.flatMap { found =>
      val listing = found.asked.listing
      val types = wanted.functions.map(_.dataType)
      GoalReader.aggregates(found.answer, listing.size, types).map(listing -> _)
    } match {
      case Left(reason) =>
        wanted.scan.scannedFor(wanted.aggregate, wanted.text, Some(reason), None)
      case Right((listing, answer)) =>
        val rewrite = new AggregateRewrite(wanted, answer.groups, numbers)
        if (answer.files.isEmpty) {
          val whole = rewrite.answered
          whole.setTagValue(Answered, AnsweredByStatistics(wanted, answer))
          whole
        } else
          wanted.scan.scannedFor(
            rewrite.withRest,
            s"${wanted.text}: ${answer.text}",
            None,
            Some(Kept.of(listing, answer.files))
          )
    }
  }

  /** On what stands in the place of an aggregate of which no file is left to be read. */
  val Answered: TreeNodeTag[AnsweredByStatistics] = TreeNodeTag("io.tamis.answered")
}

/** What has no scan in the plan, for whoever asks.
  *
  * @param files
  *   how many statistics answered for
  */
final case class AnsweredByStatistics(table: String, text: String, files: Int)

object AnsweredByStatistics {
  def apply(wanted: StatisticsAggregate, answer: AnsweredAggregates): AnsweredByStatistics =
    AnsweredByStatistics(wanted.scan.table.name(), wanted.text, answer.covered)
}
