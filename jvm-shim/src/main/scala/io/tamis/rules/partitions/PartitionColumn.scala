package io.tamis.rules.partitions

import io.tamis.rules.relations.FilteredRelation
import io.tamis.wire.TypeSets

/** A partition column of a scan of Parquet files. */
final case class PartitionColumn(scan: FilteredRelation, name: String)

object PartitionColumn {

  /** The column as a partition column whose values are equal to Spark exactly if they are equal in
    * Scala; None if it is not one.
    */
  def of(column: ScanColumn): Option[PartitionColumn] = {
    val (scan, name) = (column.scan, column.attribute.name)
    val schema = scan.table.relation.partitionSchema
    val isOne = !scan.table.isReadByFormat && !scan.table.purpose.inRecursion &&
      schema.exists(f => f.name == name && TypeSets.areEqualAsInScala(f.dataType)) &&
      schema.fieldNames.count(_ == name) == 1
    Option.when(isOne)(PartitionColumn(scan, name))
  }
}
