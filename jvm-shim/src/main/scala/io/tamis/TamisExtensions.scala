package io.tamis

import io.tamis.bridge.{SidecarPython, SidecarSupervisor}
import io.tamis.conf.TamisConf
import io.tamis.rules.{AddImpliedFilters, AggregateFromStatistics, PruneForLimit, UseTamisTables}
import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}

/** Registers tamis: `spark.sql.extensions=io.tamis.TamisExtensions`.
  *
  * Injection points, in the order in which Spark reaches them:
  *   1. none at analysis: the analysed plan stays as it was, so that writes, caching, views and
  *      streaming never meet tamis;
  *   1. pre-CBO rules: file relations become tables of tamis, after the operator optimizer and
  *      before V2ScanRelationPushDown; then scans under a LIMIT are confined to files that are
  *      enough, and those under an aggregate to files that statistics do not answer for; then
  *      filters over other sources get the ranges they imply.
  */
class TamisExtensions extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    TamisConf.register
    // in the background: importing pyarrow takes longer than planning
    if (!SidecarPython.sparkConf("spark.tamis.enabled").contains("false"))
      SidecarSupervisor.warmUp()
    extensions.injectPreCBORule(session => new UseTamisTables(session))
    extensions.injectPreCBORule(_ => PruneForLimit)
    extensions.injectPreCBORule(_ => AggregateFromStatistics)
    extensions.injectPreCBORule(_ => new AddImpliedFilters)
  }
}
