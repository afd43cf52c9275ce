package io.tamis.rules.relations

import io.tamis.planning.{FileSelection, ScanConstraints, ScanGoal, ScanPlanner}
import io.tamis.scan.TamisScan
import io.tamis.wire.Reason
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/** A relation whose scan is already built: this is the case in subqueries, which Spark optimizes
  * first.
  */
object TamisScanRelation {

  def unapply(plan: LogicalPlan): Option[TamisScan] =
    Some(plan).collect { case ScanOf(scan: TamisScan) => scan }

  /** The relation with its scan confined to these of its files. */
  def confined(
      relation: LogicalPlan,
      scan: TamisScan,
      goal: ScanGoal,
      files: Either[Reason, FileSelection]
  ): LogicalPlan = {
    val decision = files.fold(_ => scan.decision, ScanPlanner.confined(scan.decision, _))
    val purpose =
      scan.table.purpose.confined(goal, files).copy(within = Some(decision.shown.kept))
    val confined = new TamisScan(scan.table.scannedFor(purpose), decision, scan.required)
    copied(relation, confined, relation.output)
  }

  /** The relation with the same scan for another purpose. */
  def scannedFor(relation: LogicalPlan, scan: TamisScan, purpose: ScanConstraints): LogicalPlan = {
    val same = new TamisScan(scan.table.scannedFor(purpose), scan.decision, scan.required)
    copied(relation, same, relation.output)
  }

  /** The relation with another scan of the same columns. */
  def scannedBy(relation: LogicalPlan, scan: Scan): LogicalPlan =
    copied(relation, scan, relation.output)

  /** The relation with another scan of its table, whose columns become the output. */
  def scanning(relation: LogicalPlan, scan: TamisScan): LogicalPlan = {
    val whole = relation.asInstanceOf[DataSourceV2ScanRelation].relation.output
    val byName = (whole ++ relation.output).map(a => a.name -> a).toMap
    copied(relation, scan, scan.readSchema().fieldNames.toSeq.map(byName))
  }

  /** Uses `makeCopy`, never `copy`, whose arity differs from version to version (seen on 4.0 to
    * 4.3).
    */
  private def copied(relation: LogicalPlan, scan: Scan, output: Seq[Attribute]): LogicalPlan =
    relation.makeCopy(relation.productIterator.map {
      case _: Scan                               => scan
      case own: Seq[_] if own eq relation.output => output
      case other                                 => other.asInstanceOf[AnyRef]
    }.toArray)
}
