package io.tamis.scan

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** A scan of tamis in a physical plan. */
object TamisScanExec {
  def unapply(plan: SparkPlan): Option[(BatchScanExec, TamisScan)] = plan match {
    case exec: BatchScanExec =>
      exec.scan match {
        case scan: TamisScan => Some(exec -> scan)
        case _               => None
      }
    case _ => None
  }
}
