package io.tamis.functions

import io.tamis.bridge.{Planner, SidecarSupervisor}
import io.tamis.conf.TamisConf
import io.tamis.remember.LearntFiles
import io.tamis.wire.RememberedRequest

import org.apache.spark.SparkContext
import org.apache.spark.sql.internal.SQLConf

/** Returns what queries have learnt about files: each set of conjuncts, the number of files without
  * a row that passes and of files with such row groups, the same for rows that all pass, and what
  * that has saved since. Waits until what the queries of this driver have learnt is stored.
  */
object RememberedFunction extends StoredRows("tamis_remembered") {
  override def usage: String =
    "tamis_remembered() - the predicates for which files and row groups without a matching row, or " +
      "with matching rows only, are remembered"

  override protected val noArgument: String =
    "set spark.tamis.cache.location to read another directory"
  override protected val kind: String = "remembered"
  override protected def settle(context: SparkContext): Unit = LearntFiles.flush(context)
  override protected def request(conf: SQLConf): RememberedRequest =
    RememberedRequest(SidecarSupervisor.privateDirectory.toString, TamisConf.cacheLocation(conf))
  override protected def method: Planner => String => String = _.remembered
}
