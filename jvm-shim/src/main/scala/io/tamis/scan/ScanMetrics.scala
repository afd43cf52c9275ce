package io.tamis.scan

import io.tamis.planning.Decision
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

/** The metrics that the SQL tab shows on the scan node. Spark instantiates the classes by name, so
  * each metric has a class.
  *
  * In mode `observe` the metrics have other names, since they count what would have been kept and
  * not what was read.
  */
object ScanMetrics {

  /** The metrics to show. Row groups and rows appear only if they were counted, because 0 of 0
    * would mean that there are none.
    */
  def shown(decision: Decision): Array[CustomMetric] =
    values(decision, decision.kept.count).map(_._1).toArray

  /** The values of the metrics.
    *
    * @param filesRead
    *   how many of the kept files remain after run-time filters
    */
  def of(decision: Decision, filesRead: Int): Array[CustomTaskMetric] =
    values(decision, filesRead).map { case (metric, value) =>
      Value(metric.name, value): CustomTaskMetric
    }.toArray

  private def values(decision: Decision, filesRead: Int): Seq[(CustomMetric, Long)] = {
    val sizes = decision.shown.sizes
    val names = if (decision.isObserved) observed else applied
    Seq(
      new FilesTotal -> sizes.files.total,
      names.files -> sizes.files.part,
      new FilesRead -> Some(filesRead.toLong),
      new BytesTotal -> sizes.bytes.total,
      names.bytes -> sizes.bytes.part,
      new PlanningTime -> Some(math.round(decision.shown.planningMillis)),
      new RowGroupsTotal -> sizes.rowGroups.total,
      names.rowGroups -> sizes.rowGroups.part,
      new RowsTotal -> sizes.rows.total,
      names.rows -> sizes.rows.part
    ).collect { case (metric, Some(value)) => metric -> value }
  }

  /** The metrics of what is kept. */
  private final case class Names(
      files: CustomMetric,
      bytes: CustomMetric,
      rowGroups: CustomMetric,
      rows: CustomMetric
  )
  private val applied = Names(new FilesKept, new BytesKept, new RowGroupsKept, new RowsKept)
  private val observed =
    Names(new FilesObserved, new BytesObserved, new RowGroupsObserved, new RowsObserved)

  private final case class Value(name: String, value: Long) extends CustomTaskMetric
}

/** @param counted
  *   the part of the name after "tamis"
  */
sealed abstract class ScanMetric(counted: String, text: String) extends CustomSumMetric {
  override def name: String = s"tamis$counted"
  override def description: String = s"tamis: $text"
}

class FilesTotal extends ScanMetric("FilesTotal", "files in the table")
class FilesKept extends ScanMetric("FilesKept", "files kept")
class FilesObserved
    extends ScanMetric("FilesObserved", "files that would be kept (observed, not applied)")
class FilesRead extends ScanMetric("FilesRead", "files read after run-time filters")
class RowGroupsTotal extends ScanMetric("RowGroupsTotal", "row groups in the table")
class RowGroupsKept extends ScanMetric("RowGroupsKept", "row groups kept")
class RowGroupsObserved
    extends ScanMetric("RowGroupsObserved", "row groups that would be kept (observed, not applied)")
class RowsTotal extends ScanMetric("RowsTotal", "rows in the table")
class RowsKept extends ScanMetric("RowsKept", "rows kept")
class RowsObserved
    extends ScanMetric("RowsObserved", "rows that would be kept (observed, not applied)")
class BytesTotal extends ScanMetric("BytesTotal", "bytes in the table")
class BytesKept extends ScanMetric("BytesKept", "bytes kept")
class BytesObserved
    extends ScanMetric("BytesObserved", "bytes that would be kept (observed, not applied)")
class PlanningTime extends ScanMetric("PlanningMs", "planning (ms)")
