package io.tamis.rules.relations

import io.tamis.planning.{KeptStatistics, PlanningMetrics}
import io.tamis.scan.TamisFileIndex
import org.apache.spark.sql.catalyst.catalog.{CatalogStatistics, CatalogTable}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** A V1 relation with another file index.
  *
  * It uses `copy` of LogicalRelation and of HadoopFsRelation, whose parameters are the same on 4.0
  * to 4.3.
  */
object SwappedRelation {

  /** The relation with that index; statistics of the catalog become those of the kept files. */
  def of(relation: LogicalRelation, index: TamisFileIndex): LogicalPlan = {
    val files = relation.relation.asInstanceOf[HadoopFsRelation]
    val swapped = relation.copy(
      relation = files.copy(location = index)(files.sparkSession),
      catalogTable = relation.catalogTable.map(ofKept(_, relation, index))
    )
    swapped.copyTagsFrom(relation)
    if (SwapFileIndex.unapply(files).isEmpty) PlanningMetrics.planned(index.decision)
    swapped
  }

  /** The catalog table with the statistics of the kept files. Statistics of the catalog describe
    * the whole table, and Spark prefers them to the sizes of files. As when Spark prunes partitions
    * (PruneFileSourcePartitions), the size becomes that of the remaining files, and rows and
    * columns are those that [[KeptStatistics]] estimates.
    */
  private def ofKept(
      table: CatalogTable,
      relation: LogicalRelation,
      index: TamisFileIndex
  ): CatalogTable = table.stats.fold(table) { whole =>
    val planned = whole.toPlanStats(relation.output, planStatsEnabled = true)
    val kept = KeptStatistics.of(planned, relation.output, index.decision, confined = false)
    val columns = kept.map(_.attributeStats.map { case (a, s) =>
      a.name -> s.toCatalogColumnStat(a.name, a.dataType)
    })
    withStatistics(
      table,
      CatalogStatistics(
        BigInt(index.sizeInBytes),
        kept.flatMap(_.rowCount),
        columns.getOrElse(whole.colStats)
      )
    )
  }

  /** Replaces the statistics by reflection, because `copy` of CatalogTable has another number of
    * parameters from 4.2 on.
    */
  private def withStatistics(table: CatalogTable, statistics: CatalogStatistics): CatalogTable = {
    val place = table.productElementNames.indexOf("stats")
    val values = table.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    values(place) = Some(statistics)
    val constructor = table.getClass.getConstructors.maxBy(_.getParameterCount)
    constructor.newInstance(values: _*).asInstanceOf[CatalogTable]
  }
}
