package io.tamis.source

import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

/** Formats of Spark that have an index. Exactly these classes: subclasses (Delta's format, vendors'
  * forks) give the files another meaning.
  */
object FileFormats {

  /** Files that say themselves what they hold. */
  def isParquet(files: HadoopFsRelation): Boolean =
    files.fileFormat.getClass == classOf[ParquetFileFormat]

  /** Files of which an index is built from the rows: orc, csv or json. */
  def ofRows(files: HadoopFsRelation): Option[String] = OfRows.get(files.fileFormat.getClass)

  private val OfRows: Map[Class[_], String] = Map(
    classOf[OrcFileFormat] -> "orc",
    classOf[CSVFileFormat] -> "csv",
    classOf[JsonFileFormat] -> "json"
  )

  /** Lines of text, which may be malformed. */
  def isText(files: HadoopFsRelation): Boolean = ofRows(files).exists(_ != "orc")
}
