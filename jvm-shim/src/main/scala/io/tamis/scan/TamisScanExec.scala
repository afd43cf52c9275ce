package io.tamis.scan

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** A scan of tamis in a physical plan. */
object TamisScanExec {
  def unapply(plan: SparkPlan): Option[(BatchScanExec, TamisScan)] =
    Some(plan)
      .collect { case exec: BatchScanExec => exec -> exec.scan }
      .collect { case (exec, scan: TamisScan) => exec -> scan }
}
