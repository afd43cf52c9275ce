package io.tamis.rules

import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

/** Formats of which the file index of a V1 relation may be swapped. A format may join that reads
  * the rows of each file by itself, and whose statistics say what Spark reads from it under the
  * options at hand: footers of Parquet do, and of the others an index with the same
  * [[io.tamis.source.ReadFingerprint]].
  *
  * Exactly these classes: subclasses (Delta's format, vendors' forks) give the files another
  * meaning.
  */
object SwapFormats {

  private val OfRows: Set[Class[_]] =
    Set(classOf[OrcFileFormat], classOf[CSVFileFormat], classOf[JsonFileFormat])

  /** None: it may. Some(reason): a sentence for the person who asks why it was left alone. */
  def refusal(files: HadoopFsRelation): Option[String] =
    if (isParquet(files) || OfRows(files.fileFormat.getClass)) None
    else Some("its format is not Parquet, ORC, CSV or JSON as Spark itself reads them")

  def isParquet(files: HadoopFsRelation): Boolean =
    files.fileFormat.getClass == classOf[ParquetFileFormat]
}
