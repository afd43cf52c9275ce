package io.tamis

import io.tamis.bridge.{SidecarPython, SidecarSupervisor}
import io.tamis.conf.TamisConf
import io.tamis.formats.delta.BeforeDelta
import io.tamis.functions.TableFunctions
import io.tamis.maintenance.IdleMaintenance
import io.tamis.planning.{PlanningMetrics, Rehearsal}
import io.tamis.remember.{LearnFromFilters, LearntFiles}
import io.tamis.report.{Audit, ScanHistory}
import io.tamis.rules.commands.{PruneDeltaCommands, PruneIcebergCommands}
import io.tamis.rules.filters.{
  AddImpliedFilters,
  DropProvenNotNull,
  KeepFilterOrder,
  KeepRecursionStatic,
  KeepUsedFilters,
  SplitResidual
}
import io.tamis.rules.goals.{AggregateFromStatistics, PruneForLimit, PruneForTopK}
import io.tamis.rules.guards.Guards
import io.tamis.rules.joins.{
  AlignSubqueryScans,
  LeaveKeysToBloomFilters,
  PruneAtRunTime,
  PruneForJoins,
  RuntimeConditionsRule
}
import io.tamis.rules.partitions.GroupByPartitions
import io.tamis.rules.relations.{
  ChooseDeltaFiles,
  HideCachedEstimates,
  SwapFileIndex,
  UseRemoteTables,
  UseTamisTables
}
import io.tamis.writes.IndexWrites
import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}

/** Registers tamis: `spark.sql.extensions=io.tamis.TamisExtensions`.
  *
  * Injection points, in the order in which Spark reaches them:
  *   1. Analysis: only table functions. The analyzed plan stays unchanged, so writes, caching,
  *      views and streaming never meet tamis.
  *   1. Pre-CBO rules, after the operator optimizer and before V2ScanRelationPushDown. File
  *      relations become tables of tamis; relations that cannot become one get a file index of
  *      tamis if a filter lies over them. Queries of Delta's commands read fewer files. Cached
  *      plans keep their estimated size only. Scans of remote sources of tamis receive columns,
  *      filters and LIMIT. Scans under a LIMIT, with or without ORDER BY, are confined to enough
  *      files, those under an aggregate to the files that statistics do not answer for, and the
  *      sides of joins to files that may hold a matching row. Filters over other sources get the
  *      ranges they imply. A scan is split in two if only part of it needs an expensive filter.
  *      Scans of partitioned tables report their partitioning where that saves an exchange. Scans
  *      get conditions whose values become known at run time; scans of recursive queries do not.
  *      Scalar subqueries over the same files read the same columns, so that Spark merges them.
  *      Filters that later rules of Spark look for stay in the plan; IS NOT NULL that Spark adds
  *      again above built scans leaves it.
  *   1. Planner strategies that plan nothing: guards refuse queries if a conf requires it, and
  *      scans of the targets of Iceberg's commands are confined to files that may hold a matching
  *      row.
  *   1. Columnar rules, which are the ones that see physical plans: run-time conditions take the
  *      form in which Spark hands them to scans, and conjuncts with subqueries return to their
  *      original place. Scans note in which files no row passes their filters.
  */
class TamisExtensions extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    TamisConf.register
    SidecarSupervisor.warmUp(TamisConf.ofApplication(SidecarPython.sparkConf), Rehearsal.of(_))
    TableFunctions.register(extensions)
    BeforeDelta.inject(extensions)(new ChooseDeltaFiles(_))
    extensions.injectPreCBORule { session =>
      ScanHistory.listenTo(session.sparkContext)
      Audit.listenTo(session.sparkContext)
      LearntFiles.listenTo(session.sparkContext)
      IndexWrites.listenTo(session.sparkContext)
      IdleMaintenance.listenTo(session.sparkContext)
      PlanningMetrics.showIn(session.sparkContext)
      new UseTamisTables(session)
    }
    extensions.injectPreCBORule(new UseRemoteTables(_))
    extensions.injectPreCBORule(_ => SwapFileIndex)
    extensions.injectPreCBORule(_ => PruneDeltaCommands)
    extensions.injectPreCBORule(_ => HideCachedEstimates)
    extensions.injectPreCBORule(_ => KeepRecursionStatic)
    extensions.injectPreCBORule(_ => DropProvenNotNull)
    extensions.injectPreCBORule(_ => KeepFilterOrder.Remember)
    extensions.injectPreCBORule(_ => PruneForLimit)
    extensions.injectPreCBORule(_ => PruneForTopK)
    extensions.injectPreCBORule(_ => AggregateFromStatistics)
    extensions.injectPreCBORule(_ => PruneForJoins)
    extensions.injectPreCBORule(_ => AddImpliedFilters)
    extensions.injectPreCBORule(_ => SplitResidual)
    extensions.injectPreCBORule(_ => GroupByPartitions)
    extensions.injectPreCBORule(_ => PruneAtRunTime)
    extensions.injectPreCBORule(_ => LeaveKeysToBloomFilters)
    extensions.injectPreCBORule(_ => AlignSubqueryScans)
    extensions.injectPreCBORule(_ => KeepUsedFilters)
    extensions.injectPlannerStrategy(new Guards(_))
    extensions.injectPlannerStrategy(_ => PruneIcebergCommands)
    extensions.injectColumnar(_ => RuntimeConditionsRule)
    extensions.injectColumnar(_ => KeepFilterOrder.Restore)
    extensions.injectColumnar(_ => LearnFromFilters)
  }
}
