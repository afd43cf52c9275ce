package org.apache.spark.sql.execution.datasources.parquet

/** In the place of Hudi's own class, because Hudi has no release for this version of Spark: tamis
  * knows the format by the name of its class.
  */
class HoodieFileGroupReaderBasedFileFormat extends ParquetFileFormat
