package io.tamis.formats.iceberg

import io.tamis.formats.{FormatFailure, Members, RowLevelTarget}
import io.tamis.planning.{Decision, PlanningMetrics, SwappedFiles}
import io.tamis.rules.relations.ScanOf

import org.apache.spark.sql.SparkSession
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
    listed: IcebergFiles
) {
  private val tasks = new IcebergTasks(scan)

  def size: Int = tasks.planned.size

  /** Whether another one of these scans is equal. Spark may use one in place of the other. */
  def hasEqual(scans: Seq[Scan]): Boolean = scans.exists(other => !(other eq scan) && other == scan)

  /** The files of the snapshot, for the planner. */
  lazy val files: SwappedFiles = {
    val session = SparkSession.active
    val listing = IcebergRelation.asFiles(session, relation.relation.output, listed)
    SwappedFiles(session, listing, None)
  }

  /** Confines the scan to the files that a decision keeps. */
  def confine(decision: Decision): Unit = {
    // a file that is not among those of the manifests is read
    tasks.keep { task =>
      val location = tasks.locationOf(task)
      !listed.ordinals.containsKey(location) ||
      decision.kept.contains(listed.ordinals.get(location))
    }
    PlanningMetrics.planned(decision)
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
      files <- IcebergRelation.filesOf(SparkSession.active, known).toOption
    } yield new IcebergTarget(scan, relation, files)
  }

  private def snapshotOf(scan: Scan): Option[Long] =
    Option(Members.get[java.lang.Long](scan, "snapshotId")).map(_.longValue)
}
