package io.tamis.rules

import io.tamis.source.{PlanningMetrics, TamisFileIndex}
import org.apache.spark.sql.catalyst.catalog.{CatalogStatistics, CatalogTable}
import org.apache.spark.sql.catalyst.expressions.{And, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.FilterEstimation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** A V1 relation with another file index in it.
  *
  * `copy` of LogicalRelation and of HadoopFsRelation: their parameters are the same on 4.0 to 4.3.
  */
object SwappedRelation {

  /** @param exact
    *   the conjuncts that have left the filter over it
    */
  def of(relation: LogicalRelation, index: TamisFileIndex, exact: Seq[Expression]): LogicalPlan = {
    val files = relation.relation.asInstanceOf[HadoopFsRelation]
    val swapped = relation.copy(
      relation = files.copy(location = index)(files.sparkSession),
      catalogTable = relation.catalogTable.map(ofKept(_, relation, index, exact))
    )
    swapped.copyTagsFrom(relation)
    if (SwapFileIndex.unapply(files).isEmpty) PlanningMetrics.planned(index.decision)
    swapped
  }

  /** Statistics of the catalog are of the whole table, and go before the sizes of files. As when
    * Spark prunes partitions (PruneFileSourcePartitions), what is left has the size of its files,
    * and the rows that the estimate leaves of what is no longer filtered.
    */
  private def ofKept(
      table: CatalogTable,
      relation: LogicalRelation,
      index: TamisFileIndex,
      exact: Seq[Expression]
  ): CatalogTable = table.stats.fold(table) { whole =>
    val estimated = exact
      .reduceLeftOption(And(_, _))
      .flatMap(gone => FilterEstimation(Filter(gone, relation)).estimate)
    val counted =
      index.decision.keptRecords.filter(_ => index.decision.residual.isEmpty).map(BigInt(_))
    val columns = estimated.map(_.attributeStats.map { case (a, s) =>
      a.name -> s.toCatalogColumnStat(a.name, a.dataType)
    })
    withStatistics(
      table,
      CatalogStatistics(
        BigInt(index.sizeInBytes),
        counted.orElse(estimated.flatMap(_.rowCount)).orElse(whole.rowCount),
        columns.getOrElse(whole.colStats)
      )
    )
  }

  /** `copy` of CatalogTable has another number of parameters from 4.2 on. */
  private def withStatistics(table: CatalogTable, statistics: CatalogStatistics): CatalogTable = {
    val place = table.productElementNames.indexOf("stats")
    val values = table.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    values(place) = Some(statistics)
    val constructor = table.getClass.getConstructors.maxBy(_.getParameterCount)
    constructor.newInstance(values: _*).asInstanceOf[CatalogTable]
  }
}
