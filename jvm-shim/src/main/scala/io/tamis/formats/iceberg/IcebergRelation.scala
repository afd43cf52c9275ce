package io.tamis.formats.iceberg

import io.tamis.bridge.PlannerUnavailable
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
              asFiles(session, table, files),
              None,
              reader = new IcebergReader(table, files, relation.options),
              title = Some(table.name)
            )
          }
        catch { case e: PlannerUnavailable => Left(unreadable(e.getMessage)) }
    }
  }

  private def unreadable(why: String): Reason = Reasons("ICEBERG_UNREADABLE", "error" -> why)

  /** The files as a relation of Spark. Iceberg stores the values of partition columns in the files
    * as well, and never rebases dates.
    */
  private def asFiles(
      session: SparkSession,
      table: IcebergTable,
      files: IcebergFiles
  ): HadoopFsRelation =
    HadoopFsRelation(
      files.index,
      new StructType(),
      table.columns,
      None,
      new ParquetFileFormat,
      Map("datetimeRebaseMode" -> "CORRECTED", "int96RebaseMode" -> "CORRECTED")
    )(session.asInstanceOf[ClassicSession])
}
