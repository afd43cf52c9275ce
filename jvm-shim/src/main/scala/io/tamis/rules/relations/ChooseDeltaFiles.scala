package io.tamis.rules.relations

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.formats.delta.{DeltaPlanning, DeltaScanChoice}
import io.tamis.planning.OncePerRule
import java.util.{Collections, IdentityHashMap}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.{LocalLimit, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}

/** Chooses the files of Delta's scans, in place of Delta's data skipping, which runs a Spark job
  * over the state of the snapshot for each scan.
  *
  * Runs before Delta's rule (PrepareDeltaScan), and does what that does, in the same order: first,
  * Delta answers aggregates from metadata. Then the planner chooses the files of the scans that it
  * understands, among those of the snapshot that Delta reads. Delta chooses those of all others,
  * such as scans under a LIMIT that Delta pushes down. Nothing is left for Delta's rule.
  *
  * Failures of Delta end the query as they do without tamis.
  */
final class ChooseDeltaFiles(session: SparkSession) extends Rule[LogicalPlan] {
  override val ruleName: String = "io.tamis.rules.ChooseDeltaFiles"

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (TamisConf.mode(conf) != Mode.Apply || !TamisConf.deltaFilesEnabled(conf)) plan
    else
      firstScan(plan)
        .flatMap(scan => DeltaPlanning.of(session, plan, scan.index))
        .fold(plan)(delta => OncePerRule.running(chosen(delta, plan)))

  private def firstScan(plan: LogicalPlan): Option[DeltaScanChoice] =
    plan.collectFirstWithSubqueries { case DeltaScanChoice(scan) => scan }

  private def chosen(delta: DeltaPlanning, plan: LogicalPlan): LogicalPlan = {
    val answered = delta.withMetadataAnswers(plan)
    val limited = answered.collectWithSubqueries {
      case LocalLimit(_, PhysicalOperation(_, filters, DeltaScanChoice(scan)))
          if scan.isLimitable(filters) =>
        scan.logical
    }
    // from the root down, a scan is first seen below all of its filters
    val seen = Collections.newSetFromMap(new IdentityHashMap[LogicalRelation, java.lang.Boolean])
    limited.foreach(seen.add)
    val ours = answered.transformDownWithSubqueries {
      case over @ PhysicalOperation(_, filters, DeltaScanChoice(scan)) if seen.add(scan.logical) =>
        scan.chosen(delta, filters).fold(over)(replaced(over, scan.logical, _))
    }
    delta.prepared(ours)
  }

  private def replaced(
      plan: LogicalPlan,
      logical: LogicalRelation,
      index: FileIndex
  ): LogicalPlan = plan.transform {
    case relation: LogicalRelation if relation eq logical =>
      val files = relation.relation.asInstanceOf[HadoopFsRelation]
      relation.copy(relation = files.copy(location = index)(files.sparkSession))
  }
}
