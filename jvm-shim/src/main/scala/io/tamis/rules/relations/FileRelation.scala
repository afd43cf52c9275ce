package io.tamis.rules.relations

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** A V1 relation of Spark over files. */
object FileRelation {
  def unapply(plan: LogicalPlan): Option[(LogicalRelation, HadoopFsRelation)] =
    Some(plan)
      .collect { case relation: LogicalRelation => relation -> relation.relation }
      .collect { case (relation, files: HadoopFsRelation) => relation -> files }
}
