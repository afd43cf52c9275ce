package io.tamis.rules.relations

import io.tamis.remote.{RemoteScan, RemoteTable}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2Relation,
  DataSourceV2ScanRelation
}

/** A relation over a remote table, before its filters are pushed. */
object RemoteRelation {
  def unapply(plan: LogicalPlan): Option[(RemoteTable, LogicalPlan)] = plan match {
    case relation: DataSourceV2Relation =>
      relation.table match {
        case table: RemoteTable => Some(table -> relation)
        case _                  => None
      }
    case _ => None
  }
}

/** A scan of a remote table. */
object RemoteScanRelation {
  def unapply(plan: LogicalPlan): Option[(RemoteScan, LogicalPlan)] = plan match {
    case relation: DataSourceV2ScanRelation =>
      relation.scan match {
        case scan: RemoteScan => Some(scan -> relation)
        case _                => None
      }
    case _ => None
  }
}
