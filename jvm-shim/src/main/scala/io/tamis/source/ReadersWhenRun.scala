package io.tamis.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.WholeStageCodegenExec
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.vectorized.ColumnarBatch

/** The readers of a scan of Spark, which are made once a job is about to use them.
  *
  * Making them broadcasts the Hadoop configuration. Spark asks for them when it plans, only to see
  * if they read columns, also for scans that never run, because their exchange is reused. Its V1
  * scan broadcasts when it runs, and so does this one; executors receive Spark's own readers.
  */
final class ReadersWhenRun(scan: ParquetScan) extends PartitionReaderFactory {

  /** Of the planning: what was said then of the readers stays true of those that are made later. */
  private val conf = SQLConf.get.clone()

  private lazy val native = SQLConf.withExistingConf(conf)(scan.toBatch.createReaderFactory())

  /** As Spark's readers answer, on 4.0 to 4.3. */
  private val columnar = {
    val schema = scan.readSchema()
    ParquetUtils.isBatchReadSupportedForSchema(conf, schema) && conf.wholeStageEnabled &&
    !WholeStageCodegenExec.isTooManyFields(conf, schema)
  }
  override def supportColumnarReads(partition: InputPartition): Boolean = columnar

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    native.createReader(partition)
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    native.createColumnarReader(partition)

  private def writeReplace(): AnyRef = native
}
