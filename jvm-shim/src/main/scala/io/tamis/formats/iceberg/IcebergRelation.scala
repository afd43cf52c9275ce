package io.tamis.formats.iceberg

import io.tamis.bridge.PlannerUnavailable
import io.tamis.formats.FormatFiles
import io.tamis.listing.{Listing, RecordedFileIndex}
import io.tamis.scan.TamisTable
import io.tamis.wire.{Reason, Reasons}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.StructType

/** Takes over relations of Iceberg. */
object IcebergRelation {

  /** The table of tamis that replaces a relation of Iceberg, or why it stays Iceberg's own. None:
    * it is not one of Iceberg.
    */
  def taken(
      session: SparkSession,
      relation: DataSourceV2Relation
  ): Option[Either[Reason, TamisTable]] =
    if (!isOne(relation.table)) None
    else
      Some(
        IcebergTable
          .of(relation.table)
          .toRight(Reasons("ICEBERG_VERSION"))
          .flatMap(of(session, relation, _))
      )

  def isOne(table: Table): Boolean = IcebergTable.isOne(table)

  /** Options of the reader that do not change which rows are read, or how. */
  private val Harmless = Set("path")

  private def of(
      session: SparkSession,
      relation: DataSourceV2Relation,
      table: IcebergTable
  ): Either[Reason, TamisTable] = {
    val options = relation.options.keySet
    options.removeIf(Harmless(_))
    val names = table.columns.fieldNames.toSet
    val others = relation.output.map(_.name).filterNot(names)
    table.refusal match {
      case Some(reason)             => Left(reason)
      case None if !options.isEmpty =>
        Left(Reasons("ICEBERG_READ_OPTIONS", "options" -> String.join(", ", options)))
      case None if others.nonEmpty => Left(Reasons("READS_METADATA"))
      case None                    =>
        try
          IcebergFiles.of(session, table).left.map(unreadable).map { files =>
            new TamisTable(
              session,
              asFiles(session, table, files.index),
              None,
              reader = new IcebergReader(table, files, relation.options),
              title = Some(table.name)
            )
          }
        catch { case e: PlannerUnavailable => Left(unreadable(e.getMessage)) }
    }
  }

  /** The files of the snapshot of a relation, for an index. */
  def indexed(session: SparkSession, relation: DataSourceV2Relation): FormatFiles = {
    def unknown(table: IcebergTable, why: Reason): FormatFiles =
      FormatFiles.of(none(session, table), Nil, Format, Some(why.sentence))
    val table = IcebergTable
      .of(relation.table)
      .getOrElse(throw new IllegalArgumentException(Reasons("ICEBERG_VERSION").sentence))
    table.refusal match {
      case Some(reason) => unknown(table, reason)
      case None         =>
        IcebergFiles.of(session, table) match {
          case Left(problem) => unknown(table, unreadable(problem))
          case Right(files)  =>
            val ofOtherFormats =
              if (files.allParquet) None
              else Some("some of its files are encrypted, or are not Parquet")
            FormatFiles.of(
              asFiles(session, table, files.index),
              files.index.listing.directories,
              Format,
              table.otherNames.orElse(ofOtherFormats)
            )
        }
    }
  }

  private val Format = "iceberg"

  private def none(session: SparkSession, table: IcebergTable): HadoopFsRelation = asFiles(
    session,
    table,
    new RecordedFileIndex(session, Seq(table.location), Listing.empty, table.snapshot)
  )

  private def unreadable(why: String): Reason = Reasons("ICEBERG_UNREADABLE", "error" -> why)

  /** The files as a relation of Spark. Iceberg stores the values of partition columns in the files
    * as well, and never rebases dates.
    */
  private def asFiles(
      session: SparkSession,
      table: IcebergTable,
      files: RecordedFileIndex
  ): HadoopFsRelation =
    HadoopFsRelation(
      files,
      new StructType(),
      table.columns,
      None,
      new ParquetFileFormat,
      Map("datetimeRebaseMode" -> "CORRECTED", "int96RebaseMode" -> "CORRECTED")
    )(session.asInstanceOf[ClassicSession])
}
