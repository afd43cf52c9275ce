package io.tamis.remote

import io.tamis.scan.NativeScanBuilder

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Parquet files that the server of a table refers to, read by Spark's own scan. */
object RemoteFiles {
  def scan(
      table: RemoteTable,
      files: Seq[String],
      columns: StructType,
      residual: Seq[Expression]
  ): ParquetScan = {
    val listed =
      new InMemoryFileIndex(table.session, files.map(new Path(_)), Map.empty, Some(table.schema))
    val options = CaseInsensitiveStringMap.empty
    val builder =
      new NativeScanBuilder(table.session, listed, table.schema, table.schema, options)
    builder.pruneColumns(columns)
    builder.pushFilters(residual)
    builder.build()
  }
}
