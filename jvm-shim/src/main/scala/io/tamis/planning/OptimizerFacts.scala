package io.tamis.planning

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.listing.Listing
import io.tamis.wire.{ColumnFacts, TableFacts}

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap}
import org.apache.spark.sql.catalyst.plans.logical.{ColumnStat, Statistics}
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/** The statistics of a whole table, for Spark's estimates: those of ANALYZE TABLE, and what indexes
  * know about the files.
  *
  * Spark uses row counts and statistics of columns for estimates only: sizes, the order and the
  * strategies of joins, and the sizes of Bloom filters. No rule derives a result from those of a
  * scan (checked on 4.0, 4.1 and 4.3, by the classes that read `Statistics.rowCount`,
  * `attributeStats` and the fields of `ColumnStat`), except from those of cached plans: see
  * `HideCachedEstimates`. So a number that is only approximate is sound.
  */
object OptimizerFacts {

  /** The statistics of the table of a scan; None if neither ANALYZE TABLE nor an index has recorded
    * what Spark needs. Spark then estimates sizes, as without tamis.
    *
    * An index that has not recorded the number of distinct values of any column is not used unless
    * there are statistics of ANALYZE TABLE. With row counts, but without distinct values, Spark
    * takes every join for a cross product, and reorders joins by that.
    *
    * @param listing
    *   the files among which the scan has chosen
    * @param columns
    *   attributes of the table that the scan reads or that its conjuncts refer to
    */
  def of(table: PlannedFiles, listing: Listing, columns: Seq[Attribute]): Option[Statistics] = {
    val analyzed = table.catalogTable
      .flatMap(_.stats)
      .filter(_.rowCount.isDefined)
      .map(_.toPlanStats(columns, planStatsEnabled = true))
    // a metastore lists only the partitions that match, and ANALYZE TABLE describes all of them
    val isWhole = table.relation.location.isInstanceOf[PartitioningAwareFileIndex]
    val known =
      if (TamisConf.mode(SQLConf.get) != Mode.Apply || (analyzed.isDefined && !isWhole)) None
      else {
        val described = columns.filter(a => canDescribe(a.dataType))
        ScanPlanner
          .facts(table, listing, described)
          .filter(_.countsDistinct || analyzed.isDefined)
          .map(statistics(_, described, columns))
      }
    (analyzed, known) match {
      case (Some(a), Some(k)) => Some(both(a, k, columns))
      case (a, k)             => a.orElse(k)
    }
  }

  /** Whether both ANALYZE TABLE and an index can record statistics of this type. */
  private def canDescribe(t: DataType): Boolean = t match {
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType => true
    case StringType | BinaryType                                                    => true
    case _                                                                          => false
  }

  private def statistics(
      facts: TableFacts,
      described: Seq[Attribute],
      columns: Seq[Attribute]
  ): Statistics = {
    val stats = AttributeMap(described.zip(facts.columns).map { case (a, c) => a -> stat(a, c) })
    Statistics(EstimationUtils.getOutputSize(columns, facts.rows, stats), Some(facts.rows), stats)
  }

  private def stat(column: Attribute, facts: ColumnFacts): ColumnStat = {
    // as ANALYZE TABLE, also for text without values
    val fixed = column.dataType match {
      case StringType | BinaryType if !facts.distinct.contains(0L) => None
      case t                                                       => Some(t.defaultSize.toLong)
    }
    ColumnStat(
      facts.distinct.map(BigInt(_)),
      facts.bounds.map(_._1),
      facts.bounds.map(_._2),
      facts.nulls.map(BigInt(_)),
      facts.averageLength.orElse(fixed),
      facts.longest.orElse(fixed)
    )
  }

  /** The row count of an index is that of the files which are read. The one of ANALYZE TABLE is
    * that of the files at that time, so a different number shows that it is out of date.
    *
    * If both are equal, ANALYZE TABLE takes precedence, and an index fills in what it lacks.
    * Otherwise the index does, and ANALYZE TABLE fills in, such as the number of distinct values of
    * columns for which an index has not recorded it.
    */
  private[planning] def both(
      analyzed: Statistics,
      known: Statistics,
      columns: Seq[Attribute]
  ): Statistics = {
    val isCurrent = analyzed.rowCount == known.rowCount
    val stats = AttributeMap(columns.flatMap { column =>
      (analyzed.attributeStats.get(column), known.attributeStats.get(column)) match {
        // FilterEstimation requires that the bounds are those of the histogram
        case (Some(a), _) if a.histogram.isDefined => Some(column -> a)
        case (Some(a), Some(k))                    =>
          Some(column -> (if (isCurrent) filled(a, k) else filled(k, a)))
        case (a, k) => a.orElse(k).map(column -> _)
      }
    })
    val rows = known.rowCount
    Statistics(EstimationUtils.getOutputSize(columns, rows.get, stats), rows, stats)
  }

  /** The statistics of a column, with those that they lack from others. A minimum is never combined
    * with a maximum of others. Nor is it filled in for a column with only NULLs, which has none.
    */
  private def filled(stat: ColumnStat, other: ColumnStat): ColumnStat = {
    val isComplete = hasBounds(stat) || stat.distinctCount.contains(BigInt(0))
    val bounds = if (isComplete || !hasBounds(other)) stat else other
    stat.copy(
      distinctCount = stat.distinctCount.orElse(other.distinctCount),
      min = bounds.min,
      max = bounds.max,
      nullCount = stat.nullCount.orElse(other.nullCount),
      avgLen = stat.avgLen.orElse(other.avgLen),
      maxLen = stat.maxLen.orElse(other.maxLen)
    )
  }

  /** Whether Spark can estimate ranges with the bounds. ANALYZE TABLE records NaN and infinity,
    * with which FilterEstimation fails.
    */
  private def hasBounds(stat: ColumnStat): Boolean = Seq(stat.min, stat.max).forall {
    case Some(x: Double) => !x.isNaN && !x.isInfinite
    case Some(x: Float)  => !x.isNaN && !x.isInfinite
    case bound           => bound.isDefined
  }
}
