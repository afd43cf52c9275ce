package io.tamis.planning

import io.tamis.listing.{FileFormats, Listing, RecordedFileIndex}
import io.tamis.wire.Json
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.types.StructType

/** A file relation of Spark whose files the planner chooses. They are read by tamis's scan
  * ([[TamisTable]]) or by Spark's own ([[SwappedFiles]]).
  */
trait PlannedFiles {
  def session: SparkSession
  def relation: HadoopFsRelation
  def catalogTable: Option[CatalogTable]
  def purpose: ScanConstraints
  def schema: StructType

  /** The listing for these filters over partition columns, the same whenever rules and scans of one
    * plan ask; `list` makes it.
    */
  def listed(onPartitions: Seq[Expression])(list: => Listing): Listing

  /** Whether files are always read whole, because the reading scan plans its tasks itself. */
  def wholeFiles: Boolean

  /** Whether a table format lists the files, and records statistics of its own. */
  final def isOfFormat: Boolean = relation.location.isInstanceOf[RecordedFileIndex]

  /** Whether the reader of a table format reads the files: they may hold deleted rows, and columns
    * under other names.
    */
  def isReadByFormat: Boolean = isOfFormat

  /** Whether files were left out of the listing because no row of them passes the filters. */
  final def isPart: Boolean = relation.location match {
    case index: RecordedFileIndex => index.ofWhole.isDefined
    case _                        => false
  }

  /** The same files, with those that were left out of the listing because no row of them passes the
    * filters of the query.
    */
  final def whole: PlannedFiles = relation.location match {
    case index: RecordedFileIndex =>
      index.ofWhole.flatMap(_()).fold(this) { all =>
        over(relation.copy(location = all)(relation.sparkSession))
      }
    case _ => this
  }

  /** The same, over another relation. */
  protected def over(relation: HadoopFsRelation): PlannedFiles

  /** The name of the table in its catalog; None: it is read by its path. */
  def tableName: Option[String] = catalogTable.map(_.identifier.unquotedString)

  /** The name that users know: the name of the table, or else format and path. */
  def name(): String = tableName.getOrElse {
    val roots = relation.location.rootPaths
    s"$relation " + roots.headOption.map(_.toString).getOrElse("") +
      (if (roots.size > 1) s" and ${roots.size - 1} more" else "")
  }
}

object PlannedFiles {

  /** The argument of `tamis.index(spark, …)` for these files, as Python source. */
  def target(files: PlannedFiles): String = {
    val roots = files.relation.location.rootPaths
    files.catalogTable.map(table => quoted(table.identifier.unquotedString)).getOrElse {
      val path = if (roots.size == 1) quoted(roots.head.toString) else "path"
      // a path alone is read as Parquet
      if (FileFormats.ofRows(files.relation).isDefined) s"$path, reader=…" else path
    }
  }

  private def quoted(text: String): String = Json.text(text)
}

/** Files that stay in Spark's own V1 relation; only its file index is replaced. */
final case class SwappedFiles(
    session: SparkSession,
    relation: HadoopFsRelation,
    catalogTable: Option[CatalogTable],
    purpose: ScanConstraints = ScanConstraints.unknown
) extends PlannedFiles {
  override def schema: StructType = relation.schema
  override def wholeFiles: Boolean = true
  override protected def over(relation: HadoopFsRelation): PlannedFiles =
    copy(relation = relation)

  /** No scan depends on the files of another one of this kind. */
  override def listed(onPartitions: Seq[Expression])(list: => Listing): Listing = list

  /** The same relation, confined to these files. */
  def within(files: FileSelection): SwappedFiles =
    copy(purpose = purpose.copy(within = Some(files)))
}
