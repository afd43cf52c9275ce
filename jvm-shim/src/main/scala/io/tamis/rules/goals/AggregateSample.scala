package io.tamis.rules.goals

import io.tamis.conf.TamisConf
import io.tamis.listing.Listing
import io.tamis.planning.{FileSelection, ScanGoal}
import io.tamis.runtime.{Extreme, Extremes, FruitlessSamples, SampledBoundary}
import io.tamis.wire.{AggregateGoal, ExpressionWriter, SampleGoal}
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf

/** Reads a few promising files first, so that the values found there rule out other files of the
  * scan under MIN and MAX when the query runs.
  *
  * A sample is the same aggregate over some of the files. Its rows are rows of the query, too,
  * because both have the same filter and read the same files of one listing, and the scan reads the
  * sample's files in any case. So files that can only hold values like those of the sample, or
  * worse ones, change nothing ([[Extremes]]).
  */
final class AggregateSample(wanted: StatisticsAggregate) {
  import wanted.{parts, scan}

  private val sampleGoal = ScanGoal.Sample(wanted.text)

  /** What the planner has to know to choose a sample; None: the query cannot read one. */
  val goal: Option[SampleGoal] = Option.when(isPossible) {
    val columns = scan.relation.output.filter { a =>
      (scan.conjuncts ++ arguments).exists(_.references.contains(a))
    }
    val types = TopKSample.types(columns)
    SampleGoal(types, types, TamisConf.topKSampleMinSavedMs(SQLConf.get))
  }

  /** With a FILTER, the sample would have to show that it raises nothing for other rows. */
  private def isPossible: Boolean =
    wanted.isGlobal && wanted.isOfStatistics && parts.forall { part =>
      (part.kind == AggregateGoal.Min || part.kind == AggregateGoal.Max) &&
      part.argument.nonEmpty && part.filter.isEmpty
    } && TopKSample.isPossible(wanted.aggregate.child, scan.table, scan.conjuncts)

  private def arguments: Seq[Expression] = parts.flatMap(_.argument)

  /** Finds the values that other files have to go beyond, when the query runs. */
  def boundary(listing: Listing, files: FileSelection): SampledBoundary =
    new SampledBoundary(
      scan.table.session,
      Extremes(parts.flatMap { part =>
        part.argument.map(a => Extreme(ScanBelow.byName(a), part.kind == AggregateGoal.Min))
      }),
      Seq(sample(files)),
      s"(may change ${wanted.text}, known from a sample)",
      nameIn(listing),
      Some(files),
      // it would report its plan as that of the query
      adaptive = false
    )

  /** Whether an earlier query has found no value in a sample of the same files. */
  def isFruitless(listing: Listing): Boolean = FruitlessSamples.contains(nameIn(listing))

  private def nameIn(listing: Listing): String = {
    val read = arguments ++ scan.conjuncts
    (Seq(listing.fingerprint, wanted.text) ++ read.map(ExpressionWriter.sqlOf)).mkString("; ")
  }

  private def sample(files: FileSelection): LogicalPlan = {
    val rows =
      ScanBelow.replaced(wanted.aggregate.child, scan.relation)(
        _.confined(sampleGoal, Right(files))
      )
    val values = parts.zipWithIndex.map { case (part, i) => Alias(part.expression, s"v$i")() }
    Aggregate(Nil, values, rows)
  }
}
