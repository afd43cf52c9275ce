package io.tamis.scan

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.WholeStageCodegenExec
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** The readers of a scan, created only when a job is about to use them.
  *
  * Creating them broadcasts the Hadoop configuration. Spark asks for the readers at planning time,
  * only to see whether they read columns, and also for scans that never run because their exchange
  * is reused. Spark's V1 scan broadcasts when it runs, and so does this class; executors receive
  * the readers themselves.
  *
  * @param columnar
  *   whether they read columns
  */
final class ReadersWhenRun(val columnar: Boolean, make: () => PartitionReaderFactory)
    extends PartitionReaderFactory {

  /** The conf at planning time, so that readers that are created later match what was reported
    * then.
    */
  private val conf = SQLConf.get.clone()

  private lazy val native = SQLConf.withExistingConf(conf)(make())

  override def supportColumnarReads(partition: InputPartition): Boolean = columnar

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    native.createReader(partition)
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    native.createColumnarReader(partition)

  private def writeReplace(): AnyRef = native
}

object ReadersWhenRun {

  /** Spark's own readers. */
  def apply(scan: ParquetScan): ReadersWhenRun =
    new ReadersWhenRun(isColumnar(scan), () => scan.toBatch.createReaderFactory())

  /** Same answer as Spark's readers, on 4.0 to 4.3. */
  private def isColumnar(scan: ParquetScan): Boolean = {
    val schema = scan.readSchema()
    ParquetUtils.isBatchReadSupportedForSchema(SQLConf.get, schema) && codeReadsColumns(schema)
  }

  /** Whether Spark generates code for a scan of these columns. Without it, its scans return rows.
    */
  def codeReadsColumns(columns: StructType): Boolean = {
    val conf = SQLConf.get
    conf.wholeStageEnabled && !WholeStageCodegenExec.isTooManyFields(conf, columns)
  }
}
