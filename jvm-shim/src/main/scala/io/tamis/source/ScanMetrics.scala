package io.tamis.source

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

/** What the SQL tab shows on the scan node. Spark makes the classes anew by name, hence one class
  * each.
  */
object ScanMetrics {

  /** Row groups and rows are shown only where they are counted: 0 of 0 would say that there are
    * none.
    */
  def shown(decision: Decision): Array[CustomMetric] =
    Array[CustomMetric](
      new FilesTotal,
      new FilesKept,
      new FilesRead,
      new BytesTotal,
      new BytesKept,
      new PlanningTime
    ) ++ counted(decision).map(_._1)

  private def counted(decision: Decision): Seq[(CustomMetric, Long)] = {
    val groups = decision.rowGroups
    Seq(
      new RowGroupsTotal -> groups.flatMap(_.total),
      new RowGroupsKept -> groups.flatMap(_.kept),
      new RowsTotal -> decision.totalRecords,
      new RowsKept -> decision.keptRecords
    ).collect { case (metric, Some(value)) => metric -> value }
  }

  def of(decision: Decision, runtimeFiles: Option[Int]): Array[CustomTaskMetric] = Array[
    CustomTaskMetric
  ](
    Value("tamisFilesTotal", decision.kept.listing.size.toLong),
    Value("tamisFilesKept", decision.kept.count.toLong),
    Value("tamisFilesRead", runtimeFiles.getOrElse(decision.kept.count).toLong),
    Value("tamisBytesTotal", decision.kept.listing.totalBytes),
    Value("tamisBytesKept", decision.kept.bytes),
    Value("tamisPlanningMs", math.round(decision.planningMillis))
  ) ++ counted(decision).map { case (metric, value) => Value(metric.name, value) }

  private final case class Value(name: String, value: Long) extends CustomTaskMetric
}

class FilesTotal extends CustomSumMetric {
  def name: String = "tamisFilesTotal"; def description: String = "tamis: files in the table"
}
class FilesKept extends CustomSumMetric {
  def name: String = "tamisFilesKept"; def description: String = "tamis: files kept"
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
class RowsTotal extends CustomSumMetric {
  def name: String = "tamisRowsTotal"; def description: String = "tamis: rows in the table"
}
class RowsKept extends CustomSumMetric {
  def name: String = "tamisRowsKept"; def description: String = "tamis: rows in what is kept"
}
class BytesTotal extends CustomSumMetric {
  def name: String = "tamisBytesTotal"; def description: String = "tamis: bytes in the table"
}
class BytesKept extends CustomSumMetric {
  def name: String = "tamisBytesKept"; def description: String = "tamis: bytes kept"
}
class PlanningTime extends CustomSumMetric {
  def name: String = "tamisPlanningMs"; def description: String = "tamis: planning (ms)"
}
