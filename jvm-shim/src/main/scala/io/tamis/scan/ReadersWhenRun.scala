package io.tamis.scan

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.WholeStageCodegenExec
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Spark's readers of a scan, created only when a job is about to use them.
  *
  * Creating them broadcasts the Hadoop configuration. Spark asks for the readers at planning time,
  * only to see whether they read columns, and also for scans that never run because their exchange
  * is reused. Spark's V1 scan broadcasts when it runs, and so does this class; executors receive
  * Spark's own readers.
  */
final class ReadersWhenRun(scan: ParquetScan) extends PartitionReaderFactory {

  /** The conf at planning time, so that readers that are created later match what was reported
    * then.
    */
  private val conf = SQLConf.get.clone()

  private lazy val native = SQLConf.withExistingConf(conf)(scan.toBatch.createReaderFactory())

  /** Same answer as Spark's readers, on 4.0 to 4.3. */
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
