package io.tamis.scan

import io.tamis.listing.FileOptions
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScanBuilder
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter

/** Spark's builder, except that it passes every filter on to where the files are opened, as Spark's
  * V1 scan does. There each filter is converted under the schema of the file at hand, or left out.
  *
  * Spark's own builder first tries to convert filters under the schema that a writer would choose.
  * Under the default of spark.sql.parquet.outputTimestampType that schema has INT96 for timestamps,
  * so no filter over a timestamp would ever skip a row group (seen on 4.0 to 4.3).
  */
final class NativeScanBuilder(table: TamisTable, files: FixedFileIndex)
    extends ParquetScanBuilder(
      table.session,
      files,
      table.schema,
      table.relation.dataSchema,
      new FileOptions(table).asMap
    ) {
  override def pushDataFilters(filters: Array[Filter]): Array[Filter] =
    if (SQLConf.get.parquetFilterPushDown) filters else Array.empty
}
