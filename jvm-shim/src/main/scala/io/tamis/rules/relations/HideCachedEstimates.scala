package io.tamis.rules.relations

import io.tamis.scan.TamisScanExec

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Statistics}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.columnar.InMemoryRelation

/** Removes the estimated numbers of rows from cached plans that read tables of tamis, and leaves
  * their estimated sizes.
  *
  * Spark takes the number of rows of a cached plan for the real one when the cache has been filled,
  * and replaces joins with an empty relation by it (AQEPropagateEmptyRelation). If a partition was
  * cached twice, as after the loss of an executor, InMemoryRelation still returns the estimate of
  * the optimizer (`isCachedRDDLoaded` compares numbers of partitions, in 4.0 to 4.3). A wrong
  * estimate of 0, or one above 0 for an empty relation, would change the result. Plain Spark makes
  * no such estimate unless ANALYZE TABLE has run.
  */
object HideCachedEstimates extends Rule[LogicalPlan] with AdaptiveSparkPlanHelper {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan.foreach {
      case cached: InMemoryRelation if hasEstimates(cached) && readsTamis(cached) =>
        cached.statsOfPlanToCache = Statistics(cached.statsOfPlanToCache.sizeInBytes)
        cached.invalidateStatsCache()
      case _ =>
    }
    plan
  }

  private def hasEstimates(cached: InMemoryRelation): Boolean =
    Option(cached.statsOfPlanToCache).exists(_.rowCount.isDefined)

  private def readsTamis(cached: InMemoryRelation): Boolean =
    find(cached.cacheBuilder.cachedPlan)(TamisScanExec.unapply(_).isDefined).isDefined
}
