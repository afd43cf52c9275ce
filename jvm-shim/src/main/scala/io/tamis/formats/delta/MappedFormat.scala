package io.tamis.formats.delta

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

/** Reads the files of a table with column mapping for an index.
  *
  * Delta's format finds the columns. It returns deleted rows, too, because nothing asks it to mark
  * them. Unlike Delta's format, this one has `_metadata.row_index` for every table: Delta leaves it
  * out if a table has neither deletion vectors nor row tracking.
  *
  * @param delta
  *   Delta's format: seen in Delta 4.4.0 for Spark 4.1
  */
private[delta] final class MappedFormat(delta: ParquetFileFormat) extends ParquetFileFormat {

  override def supportBatch(session: SparkSession, schema: StructType): Boolean =
    delta.supportBatch(session, schema)

  override def isSplitable(
      session: SparkSession,
      options: Map[String, String],
      path: Path
  ): Boolean = delta.isSplitable(session, options, path)

  override def buildReaderWithPartitionValues(
      session: SparkSession,
      dataSchema: StructType,
      partitionSchema: StructType,
      requiredSchema: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      hadoopConf: Configuration
  ): PartitionedFile => Iterator[InternalRow] = delta.buildReaderWithPartitionValues(
    session,
    dataSchema,
    partitionSchema,
    requiredSchema,
    filters,
    options,
    hadoopConf
  )
}
