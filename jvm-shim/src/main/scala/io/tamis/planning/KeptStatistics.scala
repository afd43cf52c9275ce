package io.tamis.planning

import java.util.{HashMap, Map => JavaMap, Optional, OptionalLong}

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{And, Attribute, AttributeMap, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{
  ColumnStat,
  Filter,
  Histogram,
  LeafNode,
  Statistics
}
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.{
  EstimationUtils,
  FilterEstimation
}
import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.read.{Statistics => V2Statistics}
import org.apache.spark.sql.connector.read.colstats.{
  ColumnStatistics,
  Histogram => V2Histogram,
  HistogramBin => V2HistogramBin
}

/** Derives the statistics of the part of a table that a scan reads from those of the whole table.
  *
  * Spark estimates the filters that are in the plan. Filters that left the plan, because they are
  * true for every row that is read, are estimated here in the same way (FilterEstimation): their
  * columns keep the values that pass, and the number of distinct values shrinks with the rows.
  */
object KeptStatistics {

  /** Returns statistics over `columns`; None if the row count of the table is not known.
    *
    * @param table
    *   the statistics of the whole table
    * @param columns
    *   columns of the whole table: conjuncts refer to them by name
    * @param confined
    *   files were left out for other reasons than the conjuncts
    */
  def of(
      table: Statistics,
      columns: Seq[Attribute],
      decision: Decision,
      confined: Boolean
  ): Option[Statistics] =
    if (table.rowCount.isEmpty) None
    else {
      val byName = columns.map(a => a.name -> a).toMap
      def overTable(c: Conjunct): Expression = c.expression.transform { case a: Attribute =>
        byName.getOrElse(a.name, a)
      }
      val (proven, left) = decision.conjuncts.partition(_.isProven)
      val kept = estimate(table, columns, proven.map(overTable))
      val pruning = left.filter(c => !c.prunedFiles.contains(0L)).map(overTable)
      val passing = if (pruning.isEmpty) kept else estimate(kept, columns, pruning)
      val rows = rowsOf(kept, passing, decision.keptRecords, pruning.isEmpty && !confined, confined)
      Some(within(kept, rows, columns))
    }

  /** The row count that the scan reports.
    *
    * If only proven conjuncts ruled files out, this is the number of rows that the index knows. If
    * other conjuncts did too, Spark estimates those again above the scan. Reporting the rows of the
    * remaining files would count them twice, and joins would seem too small. The scan therefore
    * reports a row count such that the filters above it leave as many rows as Spark estimates
    * without tamis, or as many as the files hold if that is fewer.
    */
  private def rowsOf(
      kept: Statistics,
      passing: Statistics,
      known: Option[Long],
      exact: Boolean,
      confined: Boolean
  ): BigInt = {
    val estimated = kept.rowCount.get
    known.map(BigInt(_)).fold(estimated) { inFiles =>
      if (exact) inFiles
      else if (confined) inFiles.max(estimated)
      else {
        val pass = passing.rowCount.get
        val enough =
          if (pass <= inFiles) estimated
          else EstimationUtils.ceil(BigDecimal(estimated) * BigDecimal(inFiles) / BigDecimal(pass))
        inFiles.max(estimated.min(enough))
      }
    }
  }

  private def estimate(
      before: Statistics,
      columns: Seq[Attribute],
      conjuncts: Seq[Expression]
  ): Statistics =
    conjuncts
      .reduceLeftOption(And(_, _))
      .flatMap { c =>
        // it fails for TIMESTAMP_NTZ, NaN and infinity, which ANALYZE TABLE records
        Try(FilterEstimation(Filter(c, AnalyzedColumns(columns, before))).estimate).toOption.flatten
      }
      .getOrElse(before)

  /** Caps NULL and distinct counts at the number of rows. As in Spark's estimates, nothing else is
    * known if there are no rows.
    */
  private def within(s: Statistics, rows: BigInt, columns: Seq[Attribute]): Statistics = {
    val known =
      if (rows == 0) Nil
      else
        s.attributeStats.toSeq.map { case (column, stat) =>
          column -> stat.copy(
            distinctCount = stat.distinctCount.map(_.min(rows)),
            nullCount = stat.nullCount.map(_.min(rows))
          )
        }
    val stats = AttributeMap(known)
    Statistics(EstimationUtils.getOutputSize(columns, rows, stats), Some(rows), stats)
  }
}

/** A relation that only carries statistics. */
private final case class AnalyzedColumns(output: Seq[Attribute], statistics: Statistics)
    extends LeafNode {
  override def computeStats(): Statistics = statistics
}

/** Statistics in the form in which a scan reports them. */
object ReportedStatistics {

  /** The statistics of these columns of a table, with the size that Spark estimates for a
    * projection to them.
    */
  def apply(table: Statistics, columns: Seq[Attribute]): V2Statistics = {
    val reported = new HashMap[NamedReference, ColumnStatistics]
    columns.foreach { c =>
      table.attributeStats.get(c).foreach(s => reported.put(ColumnName(c.name), Reported(s)))
    }
    val rows = table.rowCount.getOrElse(BigInt(0))
    val size = EstimationUtils.getOutputSize(columns, rows, table.attributeStats)
    new V2Statistics {
      override def sizeInBytes(): OptionalLong = count(Some(size))
      override def numRows(): OptionalLong = count(table.rowCount)
      override def columnStats(): JavaMap[NamedReference, ColumnStatistics] = reported
    }
  }

  /** Statistics without columns. */
  def ofSize(bytes: Long, rows: Option[Long]): V2Statistics = new V2Statistics {
    override def sizeInBytes(): OptionalLong = OptionalLong.of(bytes)
    override def numRows(): OptionalLong = rows.fold(OptionalLong.empty())(OptionalLong.of)
  }

  /** Spark looks for an attribute whose name equals the description, so the description has no
    * quotes.
    */
  private final case class ColumnName(name: String) extends NamedReference {
    override def fieldNames(): Array[String] = Array(name)
    override def describe(): String = name
  }

  private final case class Reported(stat: ColumnStat) extends ColumnStatistics {
    override def distinctCount(): OptionalLong = count(stat.distinctCount)
    override def min(): Optional[AnyRef] = value(stat.min)
    override def max(): Optional[AnyRef] = value(stat.max)
    override def nullCount(): OptionalLong = count(stat.nullCount)
    override def avgLen(): OptionalLong = count(stat.avgLen.map(BigInt(_)))
    override def maxLen(): OptionalLong = count(stat.maxLen.map(BigInt(_)))
    override def histogram(): Optional[V2Histogram] =
      stat.histogram.fold(Optional.empty[V2Histogram])(h => Optional.of(ReportedHistogram(h)))
  }

  private final case class ReportedHistogram(of: Histogram) extends V2Histogram {
    override def height(): Double = of.height
    override def bins(): Array[V2HistogramBin] = of.bins.map { bin =>
      new V2HistogramBin {
        override def lo(): Double = bin.lo
        override def hi(): Double = bin.hi
        override def ndv(): Long = bin.ndv
      }
    }
  }

  /** A number that does not fit into a Long counts as not known. */
  private def count(number: Option[BigInt]): OptionalLong =
    number.filter(_.isValidLong).fold(OptionalLong.empty())(n => OptionalLong.of(n.toLong))

  private def value(v: Option[Any]): Optional[AnyRef] =
    v.fold(Optional.empty[AnyRef])(x => Optional.ofNullable(x.asInstanceOf[AnyRef]))
}
