package io.tamis.formats.iceberg

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  AttributeReference,
  BindReferences,
  Expression,
  Predicate
}
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/** Every row that was written to the data files of a snapshot, with the location of its file.
  *
  * Iceberg's own scan reads the rows, so columns are found by field id. The scan has no filter, and
  * its tasks have no deletes: what is recorded of these rows holds for a file whatever is deleted
  * from it, earlier and later. A filter on the location leaves out files.
  */
private[iceberg] final class IcebergRows(table: IcebergTable) extends Table with SupportsRead {

  override def name(): String = s"all rows of ${table.name}"
  override def columns(): Array[Column] =
    table.columns :+ Column.create(IcebergRows.File, StringType, false)
  override def capabilities(): util.Set[TableCapability] = util.Set.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new Builder

  private final class Builder
      extends ScanBuilder
      with SupportsPushDownRequiredColumns
      with SupportsPushDownCatalystFilters {
    private var required: Option[StructType] = None
    private var ofLocation: Seq[Expression] = Nil

    override def pruneColumns(columns: StructType): Unit = required = Some(columns)

    override def pushFilters(filters: Seq[Expression]): Seq[Expression] = {
      // The location is the same in all rows of a file, so these are true for all of them or none.
      val (ofLocation, others) = filters.partition { f =>
        f.deterministic && f.references.nonEmpty && f.references.forall(_.name == IcebergRows.File)
      }
      this.ofLocation = ofLocation
      others
    }
    override def pushedFilters: Array[V2Predicate] = Array.empty

    override def build(): Scan = {
      val builder = table.newScanBuilder(CaseInsensitiveStringMap.empty)
      (builder, required) match {
        case (projected: SupportsPushDownRequiredColumns, Some(columns)) =>
          projected.pruneColumns(columns)
        case _ =>
      }
      val scan = builder.build()
      val kept = ofLocation.map(IcebergRows.predicate)
      val chosen = IcebergRows.oncePerFile(new IcebergTasks(scan).planned).filter { task =>
        val location = UTF8String.fromString(IcebergTasks.locationOf(IcebergTasks.fileOf(task)))
        kept.forall(_.eval(InternalRow(location)))
      }
      new IcebergTasks(scan).reset(chosen.map(table.withoutDeletes))
      scan
    }
  }
}

private[iceberg] object IcebergRows {

  /** Iceberg's metadata column of this name. No column of a table may have it. */
  val File = "_file"

  /** The data files of the snapshot, each once, ordered by location. */
  def files(table: IcebergTable): Seq[AnyRef] = {
    val scan = table.newScanBuilder(CaseInsensitiveStringMap.empty).build()
    oncePerFile(new IcebergTasks(scan).planned)
      .map(IcebergTasks.fileOf)
      .sortBy(IcebergTasks.locationOf)
  }

  /** A file that a snapshot has twice is read once. */
  private def oncePerFile(tasks: Seq[AnyRef]): Seq[AnyRef] =
    tasks.distinctBy(task => IcebergTasks.locationOf(IcebergTasks.fileOf(task)))

  private def predicate(filter: Expression) = {
    val location = AttributeReference(File, StringType, nullable = false)()
    Predicate.createInterpreted(
      BindReferences.bindReference(
        filter.transform { case a: AttributeReference => location },
        Seq(location)
      )
    )
  }
}
