package io.tamis.listing

import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

/** Spark's formats that can have an index. Only exactly these classes: subclasses (Delta's format,
  * vendors' forks) interpret the files differently.
  */
object FileFormats {

  /** Whether the files have footers that describe their content. */
  def isParquet(files: HadoopFsRelation): Boolean =
    files.fileFormat.getClass == classOf[ParquetFileFormat]

  /** The format of files whose index is built from the rows: orc, csv or json. */
  def ofRows(files: HadoopFsRelation): Option[String] = OfRows.get(files.fileFormat.getClass)

  private val OfRows: Map[Class[_], String] = Map(
    classOf[OrcFileFormat] -> "orc",
    classOf[CSVFileFormat] -> "csv",
    classOf[JsonFileFormat] -> "json"
  )

  /** Whether the files are lines of text, which may be malformed. */
  def isText(files: HadoopFsRelation): Boolean = ofRows(files).exists(_ != "orc")
}
