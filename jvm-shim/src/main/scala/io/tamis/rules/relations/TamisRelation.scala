package io.tamis.rules.relations

import io.tamis.planning.ScanConstraints
import io.tamis.scan.TamisTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2._

/** The table of a relation of DataSource V2 whose scan is not built yet. */
object TableOf {
  def unapply(relation: DataSourceV2Relation): Option[Table] = Some(relation.table)
}

/** The scan of a relation of DataSource V2. */
object ScanOf {
  def unapply(relation: DataSourceV2ScanRelation): Option[Scan] = Some(relation.scan)
}

/** A relation of the plan over a [[io.tamis.scan.TamisTable]]. */
object TamisRelation {
  def unapply(plan: LogicalPlan): Option[TamisTable] =
    Some(plan).collect { case TableOf(table: TamisTable) => table }

  /** The relation with its scan for another purpose. */
  def scannedFor(
      relation: LogicalPlan
  )(purpose: ScanConstraints => ScanConstraints): LogicalPlan = relation match {
    case own: DataSourceV2Relation =>
      own.table match {
        case table: TamisTable => TamisTable.in(own, table.scannedFor(purpose(table.purpose)))
        case _                 => own
      }
    case other => other
  }

  /** The relation with these attributes, matched by name: they keep ids, nullability and char /
    * varchar metadata.
    *
    * It uses `create` and transformExpressions, never `copy` or the constructor, whose arity
    * differs from version to version (checked on 4.0 to 4.3).
    */
  def of(table: Table, output: Seq[Attribute]): LogicalPlan = {
    val byName = output.map(a => a.name -> a).toMap
    DataSourceV2Relation.create(table, None, None).transformExpressions {
      case a: AttributeReference => byName.getOrElse(a.name, a)
    }
  }
}
