package io.tamis.scan

import io.tamis.listing.{Listing, QuotedName}
import io.tamis.planning.{FileSelection, PinnedListings, PlannedFiles, ScanConstraints, ScanPlanner}
import java.util

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.{Column, Table, TableCapability}
import org.apache.spark.sql.connector.expressions.{Expressions, Transform}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.execution.datasources.{
  FileFormat,
  HadoopFsRelation,
  PartitioningAwareFileIndex
}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A file relation of Spark as a DataSource V2 table that can be pruned. Read-only, and created for
  * one plan.
  *
  * It is a FileTable because `Dataset.inputFiles` looks for that class.
  *
  * @param title
  *   the name of the table in a catalog other than Spark's own
  */
final class TamisTable(
    val session: SparkSession,
    val relation: HadoopFsRelation,
    val catalogTable: Option[CatalogTable],
    val purpose: ScanConstraints = ScanConstraints.unknown,
    private[tamis] val listings: PinnedListings = new PinnedListings,
    val reader: FilesReader = ParquetReader,
    title: Option[String] = None
) extends FileTable(session, new CaseInsensitiveStringMap(relation.options.asJava), Nil, None)
    with PlannedFiles {

  /** The scan that was built last. */
  @volatile private[tamis] var built: Option[TamisScan] = None

  override def tableName: Option[String] = title.orElse(super.tableName)
  override def wholeFiles: Boolean = reader.wholeFiles
  override def isReadByFormat: Boolean = reader ne ParquetReader

  override lazy val schema: StructType = relation.schema

  /** The columns without their metadata, which fails if a comment in it is not a string. The
    * attributes of the relation keep it.
    */
  override def columns(): Array[Column] =
    schema.fields.map(f => Column.create(f.name, f.dataType, f.nullable))

  /** The files that the plan reads, for `inputFiles`. Used only after a scan was built. */
  override lazy val fileIndex: PartitioningAwareFileIndex =
    new FixedFileIndex(this, built.fold(ScanPlanner.everything(this))(_.decision).kept)

  /** Does not use the file index, which 4.2 would otherwise request before a scan is built. */
  override def partitioning(): Array[Transform] =
    relation.partitionSchema.names.map(name => Expressions.identity(QuotedName(name)))

  override def capabilities(): util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new TamisScanBuilder(this)
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
    throw new UnsupportedOperationException(
      "a table of tamis is read-only: writes go to Spark's own relation"
    )

  /** The same table, scanned for this purpose. */
  def scannedFor(purpose: ScanConstraints): TamisTable =
    new TamisTable(session, relation, catalogTable, purpose, listings, reader, title)

  override protected def over(relation: HadoopFsRelation): PlannedFiles =
    new TamisTable(session, relation, catalogTable, purpose, listings, reader, title)

  override def listed(onPartitions: Seq[Expression])(list: => Listing): Listing =
    listings.of(onPartitions)(list)

  /** The same table, confined to these files. */
  def within(files: FileSelection): TamisTable = scannedFor(purpose.copy(within = Some(files)))

  override def inferSchema(files: Seq[FileStatus]): Option[StructType] = Some(relation.dataSchema)
  override def formatName: String = "parquet"
  override def fallbackFileFormat: Class[_ <: FileFormat] = classOf[ParquetFileFormat]

  override def equals(other: Any): Boolean = other match {
    case table: TamisTable => relation == table.relation && purpose == table.purpose
    case _                 => false
  }
  override def hashCode(): Int = relation.hashCode()
}

object TamisTable {

  /** The same relation over another table. Everything else of the relation is kept: Spark resolves
    * transforms of partitions with its catalog.
    *
    * The arity of the constructor differs between versions of Spark (checked on 4.0 to 4.3).
    */
  def in(relation: DataSourceV2Relation, table: TamisTable): LogicalPlan =
    relation.makeCopy(relation.productIterator.map {
      case own: Table if own eq relation.table => table
      case other                               => other.asInstanceOf[AnyRef]
    }.toArray)
}
