package io.tamis

import io.tamis.bridge.{SidecarPython, SidecarSupervisor}
import io.tamis.conf.TamisConf
import io.tamis.functions.TableFunctions
import io.tamis.report.{Audit, ScanHistory}
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
  *      conditions that are known at run time, but for those of recursive queries; scalar
  *      subqueries over the same files read the same columns, so that Spark merges them; filters
  *      that later rules of Spark look for stay;
  *   1. a planner strategy that plans nothing: guards refuse queries where a conf asks for it;
  *   1. columnar rules, which are those that see physical plans: these conditions take the form in
  *      which Spark hands them to scans, and conjuncts with subqueries go back to their place.
  */
class TamisExtensions extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    TamisConf.register
    // in the background: importing pyarrow takes longer than planning
    val conf = TamisConf.ofApplication(SidecarPython.sparkConf)
    if (TamisConf.enabled(conf)) SidecarSupervisor.warmUp(conf)
    TableFunctions.register(extensions)
    extensions.injectPreCBORule { session =>
      ScanHistory.listenTo(session.sparkContext)
      Audit.listenTo(session.sparkContext)
      PlanningMetrics.showIn(session.sparkContext)
      new UseTamisTables(session)
    }
    extensions.injectPreCBORule(_ => SwapFileIndex)
    extensions.injectPreCBORule(_ => KeepRecursionStatic)
    extensions.injectPreCBORule(_ => KeepFilterOrder.Remember)
    extensions.injectPreCBORule(_ => PruneForLimit)
    extensions.injectPreCBORule(_ => PruneForTopK)
    extensions.injectPreCBORule(_ => AggregateFromStatistics)
    extensions.injectPreCBORule(_ => PruneForJoins)
    extensions.injectPreCBORule(_ => AddImpliedFilters)
    extensions.injectPreCBORule(_ => SplitResidual)
    extensions.injectPreCBORule(_ => PruneAtRunTime)
    extensions.injectPreCBORule(_ => AlignSubqueryScans)
    extensions.injectPreCBORule(_ => KeepUsedFilters)
    extensions.injectPlannerStrategy(new Guards(_))
    extensions.injectColumnar(_ => RuntimeConditionsRule)
    extensions.injectColumnar(_ => KeepFilterOrder.Restore)
  }
}
