package io.tamis

import io.tamis.bridge.{SidecarPython, SidecarSupervisor}
import io.tamis.conf.TamisConf
import io.tamis.functions.TableFunctions
import io.tamis.report.{ListenForAudits, ScanHistory}
import io.tamis.rules._
import io.tamis.source.PlanningMetrics
import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}

/** Registers tamis: `spark.sql.extensions=io.tamis.TamisExtensions`.
  *
  * Injection points, in the order in which Spark reaches them:
  *   1. none at analysis but table functions: the analysed plan stays as it was, so that writes,
  *      caching, views and streaming never meet tamis;
  *   1. pre-CBO rules: file relations become tables of tamis, after the operator optimizer and
  *      before V2ScanRelationPushDown; relations that cannot become one get a file index of tamis
  *      where a filter is over them. Scans under a LIMIT, sorted or not, are confined to files that
  *      are enough, those under an aggregate to files that statistics do not answer for, and the
  *      sides of joins to files that may hold a partner; filters over other sources get the ranges
  *      they imply; scans of which only a part needs a dear filter fall into two; scans get
  *      conditions that are known at run time; scalar subqueries over the same files read the same
  *      columns, so that Spark merges them;
  *   1. planner strategies that plan nothing: guards refuse queries where somebody asked for that,
  *      and sessions that want audits get a listener;
  *   1. columnar rules, which are those that see physical plans: these conditions take the form in
  *      which Spark hands them to scans, and conjuncts with subqueries go back to their place.
  */
class TamisExtensions extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    TamisConf.register
    // in the background: importing pyarrow takes longer than planning
    if (!SidecarPython.sparkConf("spark.tamis.enabled").contains("false"))
      SidecarSupervisor.warmUp()
    TableFunctions.register(extensions)
    extensions.injectPreCBORule { session =>
      ScanHistory.listenTo(session.sparkContext)
      PlanningMetrics.showIn(session.sparkContext)
      new UseTamisTables(session)
    }
    extensions.injectPreCBORule(_ => SwapFileIndex)
    extensions.injectPreCBORule(_ => KeepFilterOrder.Remember)
    extensions.injectPreCBORule(_ => PruneForLimit)
    extensions.injectPreCBORule(_ => PruneForTopK)
    extensions.injectPreCBORule(_ => AggregateFromStatistics)
    extensions.injectPreCBORule(_ => PruneForJoins)
    extensions.injectPreCBORule(_ => AddImpliedFilters)
    extensions.injectPreCBORule(_ => SplitResidual)
    extensions.injectPreCBORule(_ => PruneAtRunTime)
    extensions.injectPreCBORule(_ => AlignSubqueryScans)
    extensions.injectPlannerStrategy(new Guards(_))
    extensions.injectPlannerStrategy(new ListenForAudits(_))
    extensions.injectColumnar(_ => RuntimeConditionsRule)
    extensions.injectColumnar(_ => KeepFilterOrder.Restore)
  }
}
