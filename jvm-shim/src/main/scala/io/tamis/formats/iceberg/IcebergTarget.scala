package io.tamis.formats.iceberg

import io.tamis.formats.{FormatFailure, Members, RowLevelTarget}
import io.tamis.planning.{Decision, PlanningMetrics, SwappedFiles}
import io.tamis.rules.relations.ScanOf

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/** The scan of the table that a MERGE, UPDATE or DELETE changes by writing deletes of single rows
  * (merge-on-read).
  *
  * Iceberg looks for conflicts with other commits by the filters that Spark has pushed to this
  * scan, by its snapshot, and by the files in which rows are deleted. Its tasks do not matter for
  * that: Iceberg's own run-time filters reduce them, too.
  */
final class IcebergTarget private (
    scan: Scan,
    relation: DataSourceV2ScanRelation,
    table: IcebergTable
) {
  private val tasks = new IcebergTasks(scan)

  def size: Int = tasks.planned.size

  /** Whether another one of these scans is equal. Spark may use one in place of the other. */
  def hasEqual(scans: Seq[Scan]): Boolean = scans.exists(other => !(other eq scan) && other == scan)

  /** Confines the scan to the files that a decision keeps.
    *
    * @param conjuncts
    *   predicates that are true of every row that has an effect
    * @param decide
    *   decides about the files that may hold such rows; None: all of them are read
    */
  def confine(conjuncts: Seq[Expression])(decide: SwappedFiles => Option[Decision]): Unit = {
    val session = SparkSession.active
    val columns = relation.relation.output
    for {
      listed <- IcebergRelation
        .filesOf(session, table, columns, conjuncts, tasks.manifests)
        .toOption
      files = IcebergRelation.asFiles(session, columns, listed)
      decision <- decide(SwappedFiles(session, files, None))
    } {
      tasks.keep { task =>
        val ordinal = Option(listed.ordinals.get(tasks.locationOf(task)))
        // a file that is neither listed nor in a manifest that is ruled out is read
        ordinal.fold(!listed.rulesOut(IcebergTasks.fileOf(task)))(decision.kept.contains)
      }
      PlanningMetrics.planned(decision)
    }
  }
}

object IcebergTarget {

  /** Only exactly these classes: others choose rows in ways that are not known here. */
  def unapply(plan: LogicalPlan): Option[IcebergTarget] = plan match {
    case relation @ ScanOf(scan) if scan.getClass.getName == IcebergTasks.OfSpark =>
      FormatFailure.kept(Option.empty[IcebergTarget])(of(relation, scan))
    case _ => None
  }

  private def of(plan: LogicalPlan, scan: Scan): Option[IcebergTarget] = {
    val relation = plan.asInstanceOf[DataSourceV2ScanRelation]
    for {
      table <- RowLevelTarget.unapply(relation.relation)
      if IcebergRelation.isOne(table)
      known <- IcebergTable.of(table).toOption.filter(_.refusal.isEmpty)
      // the scan may be of a branch, or of a newer snapshot
      if known.snapshot.snapshotId == snapshotOf(scan)
    } yield new IcebergTarget(scan, relation, known)
  }

  private def snapshotOf(scan: Scan): Option[Long] =
    Option(Members.get[java.lang.Long](scan, "snapshotId")).map(_.longValue)
}
