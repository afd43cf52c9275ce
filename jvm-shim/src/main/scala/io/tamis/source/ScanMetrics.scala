package io.tamis.source

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

/** What the SQL tab shows on the scan node. Spark makes the classes anew by name, hence one class
  * each.
  */
object ScanMetrics {
  def all: Array[CustomMetric] =
    Array(
      new FilesTotal,
      new FilesKept,
      new FilesRead,
      new BytesTotal,
      new BytesKept,
      new PlanningTime
    )

  def of(decision: Decision, runtimeFiles: Option[Int]): Array[CustomTaskMetric] = Array(
    Value("tamisFilesTotal", decision.kept.listing.size.toLong),
    Value("tamisFilesKept", decision.kept.count.toLong),
    Value("tamisFilesRead", runtimeFiles.getOrElse(decision.kept.count).toLong),
    Value("tamisBytesTotal", decision.kept.listing.totalBytes),
    Value("tamisBytesKept", decision.kept.bytes),
    Value("tamisPlanningMs", math.round(decision.planningMillis))
  )

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
class BytesTotal extends CustomSumMetric {
  def name: String = "tamisBytesTotal"; def description: String = "tamis: bytes in the table"
}
class BytesKept extends CustomSumMetric {
  def name: String = "tamisBytesKept"; def description: String = "tamis: bytes kept"
}
class PlanningTime extends CustomSumMetric {
  def name: String = "tamisPlanningMs"; def description: String = "tamis: planning (ms)"
}
