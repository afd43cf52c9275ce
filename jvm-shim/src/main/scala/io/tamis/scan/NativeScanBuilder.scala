package io.tamis.scan

import io.tamis.listing.{FileOptions, PartitionPredicate}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScanBuilder
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Spark's builder, except that it passes every filter on to where the files are opened, as Spark's
  * V1 scan does. There each filter is converted under the schema of the file at hand, or left out.
  *
  * Spark's own builder first tries to convert filters under the schema that a writer would choose.
  * Under the default of spark.sql.parquet.outputTimestampType that schema has INT96 for timestamps,
  * so no filter over a timestamp would ever skip a row group (seen on 4.0 to 4.3).
  */
final class NativeScanBuilder(
    session: SparkSession,
    files: PartitioningAwareFileIndex,
    schema: StructType,
    dataSchema: StructType,
    options: CaseInsensitiveStringMap
) extends ParquetScanBuilder(session, files, schema, dataSchema, options) {

  def this(table: TamisTable, files: FixedFileIndex) = this(
    table.session,
    files,
    table.schema,
    table.relation.dataSchema,
    new FileOptions(table).asMap
  )

  /** Pushes no filter over a partition column, as Spark's V1 scan: a file may hold a column of that
    * name, which the reader does not read, so that its pages would seem to hold NULL only.
    */
  override def pushFilters(filters: Seq[Expression]): Seq[Expression] = {
    val partitions = files.partitionSchema.fieldNames.toSet
    def isOfFiles(e: Expression): Boolean = !e.references.exists(a => partitions(a.name))
    super.pushFilters(filters.flatMap(PartitionPredicate.impliedBy(_, isOfFiles(_))))
  }

  override def pushDataFilters(filters: Array[Filter]): Array[Filter] =
    if (SQLConf.get.parquetFilterPushDown) filters else Array.empty
}
