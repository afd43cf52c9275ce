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
    val shown = decision.shown
    val (kept, listing) = (shown.kept, shown.kept.listing)
    val groups = shown.rowGroups
    val names = if (decision.isObserved) Observed else Kept
    val sizes = Seq(
      new FilesTotal -> listing.size.toLong,
      names.files -> kept.count.toLong,
      new FilesRead -> filesRead.toLong,
      new BytesTotal -> listing.totalBytes,
      names.bytes -> kept.bytes,
      new PlanningTime -> math.round(shown.planningMillis)
    )
    val counted = Seq(
      new RowGroupsTotal -> groups.flatMap(_.total),
      names.rowGroups -> groups.flatMap(_.kept),
      new RowsTotal -> shown.totalRecords,
      names.rows -> shown.keptRecords
    ).collect { case (metric, Some(value)) => metric -> value }
    sizes ++ counted
  }

  private sealed trait Names {
    def files: CustomMetric
    def bytes: CustomMetric
    def rowGroups: CustomMetric
    def rows: CustomMetric
  }

  private object Kept extends Names {
    def files = new FilesKept
    def bytes = new BytesKept
    def rowGroups = new RowGroupsKept
    def rows = new RowsKept
  }

  private object Observed extends Names {
    def files = new FilesObserved
    def bytes = new BytesObserved
    def rowGroups = new RowGroupsObserved
    def rows = new RowsObserved
  }

  private final case class Value(name: String, value: Long) extends CustomTaskMetric
}

class FilesTotal extends CustomSumMetric {
  def name: String = "tamisFilesTotal"; def description: String = "tamis: files in the table"
}
class FilesKept extends CustomSumMetric {
  def name: String = "tamisFilesKept"; def description: String = "tamis: files kept"
}
class FilesObserved extends CustomSumMetric {
  def name: String = "tamisFilesObserved";
  def description: String = "tamis: files that would be kept (observed, not applied)"
}
class FilesRead extends CustomSumMetric {
  def name: String = "tamisFilesRead";
  def description: String = "tamis: files read after run-time filters"
}
class RowGroupsTotal extends CustomSumMetric {
  def name: String = "tamisRowGroupsTotal";
  def description: String = "tamis: row groups in the table"
}
class RowGroupsKept extends CustomSumMetric {
  def name: String = "tamisRowGroupsKept"; def description: String = "tamis: row groups kept"
}
class RowGroupsObserved extends CustomSumMetric {
  def name: String = "tamisRowGroupsObserved";
  def description: String = "tamis: row groups that would be kept (observed, not applied)"
}
class RowsTotal extends CustomSumMetric {
  def name: String = "tamisRowsTotal"; def description: String = "tamis: rows in the table"
}
class RowsKept extends CustomSumMetric {
  def name: String = "tamisRowsKept"; def description: String = "tamis: rows in what is kept"
}
class RowsObserved extends CustomSumMetric {
  def name: String = "tamisRowsObserved";
  def description: String = "tamis: rows in what would be kept (observed, not applied)"
}
class BytesTotal extends CustomSumMetric {
  def name: String = "tamisBytesTotal"; def description: String = "tamis: bytes in the table"
}
class BytesKept extends CustomSumMetric {
  def name: String = "tamisBytesKept"; def description: String = "tamis: bytes kept"
}
class BytesObserved extends CustomSumMetric {
  def name: String = "tamisBytesObserved";
  def description: String = "tamis: bytes that would be kept (observed, not applied)"
}
class PlanningTime extends CustomSumMetric {
  def name: String = "tamisPlanningMs"; def description: String = "tamis: planning (ms)"
}
