package io.tamis.rules

import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

/** Formats of which the file index of a V1 relation may be swapped. A format may join that reads
  * the rows of each file by itself, and whose statistics say what Spark reads from it under the
  * options at hand.
  */
object SwapFormats {

  /** None: it may. Some(reason): a sentence for the person who asks why it was left alone. */
  def refusal(files: HadoopFsRelation): Option[String] =
    // subclasses (Delta's format, vendors' forks) give the files another meaning: exactly this class
    if (files.fileFormat.getClass == classOf[ParquetFileFormat]) None
    else Some("its format is not Spark's own Parquet")
}
