package io.tamis.source

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

/** What the SQL tab shows on the scan node. Spark makes the classes anew by name, hence one class
  * each.
  */
object ScanMetrics {

  /** Row groups are shown only where they are counted: 0 of 0 would say that there are none. */
  def shown(decision: Decision): Array[CustomMetric] =
    Array[CustomMetric](
      new FilesTotal,
      new FilesKept,
      new FilesRead,
      new BytesTotal,
      new BytesKept,
      new PlanningTime
    ) ++ counted(decision).map {
      case ("tamisRowGroupsKept", _) => new RowGroupsKept
      case _                         => new RowGroupsTotal
    }

  private def counted(decision: Decision): Seq[(String, Long)] = for {
    counts <- decision.rowGroups.toSeq
    (name, count) <- Seq("tamisRowGroupsTotal" -> counts.total, "tamisRowGroupsKept" -> counts.kept)
    value <- count
  } yield name -> value

  def of(decision: Decision, runtimeFiles: Option[Int]): Array[CustomTaskMetric] = Array[
    CustomTaskMetric
  ](
    Value("tamisFilesTotal", decision.kept.listing.size.toLong),
    Value("tamisFilesKept", decision.kept.count.toLong),
    Value("tamisFilesRead", runtimeFiles.getOrElse(decision.kept.count).toLong),
    Value("tamisBytesTotal", decision.kept.listing.totalBytes),
    Value("tamisBytesKept", decision.kept.bytes),
    Value("tamisPlanningMs", math.round(decision.planningMillis))
  ) ++ counted(decision).map { case (name, value) => Value(name, value) }

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
class BytesTotal extends CustomSumMetric {
  def name: String = "tamisBytesTotal"; def description: String = "tamis: bytes in the table"
}
class BytesKept extends CustomSumMetric {
  def name: String = "tamisBytesKept"; def description: String = "tamis: bytes kept"
}
class PlanningTime extends CustomSumMetric {
  def name: String = "tamisPlanningMs"; def description: String = "tamis: planning (ms)"
}
