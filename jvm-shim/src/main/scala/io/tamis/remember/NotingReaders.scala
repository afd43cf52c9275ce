package io.tamis.remember

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.vectorized.ColumnarBatch

/** The readers of a scan, which also note the files that were read to their end, and whether a row
  * of them passed the filter.
  */
private[tamis] final class NotingReaders(native: PartitionReaderFactory, learner: Learner)
    extends PartitionReaderFactory {

  override def supportColumnarReads(partition: InputPartition): Boolean =
    native.supportColumnarReads(partition)

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    noting(partition)(native.createReader)
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    noting(partition)(native.createColumnarReader)

  private def noting[T](partition: InputPartition)(
      create: InputPartition => PartitionReader[T]
  ): PartitionReader[T] = partition match {
    case files: FilePartition => new NotingReader(files, learner, create)
    case other                => create(other)
  }
}

/** Reads the files of a partition one after the other, each with a reader of Spark's.
  *
  * A file counts only if its reader was asked for rows until it had none: the consumer has then
  * taken every row before, which a LIMIT, a join that ends early, or an error would prevent.
  */
private final class NotingReader[T](
    partition: FilePartition,
    learner: Learner,
    create: InputPartition => PartitionReader[T]
) extends PartitionReader[T] {
  private val hits = learner.hits()
  private var file = -1
  private var current: Option[PartitionReader[T]] = None
  private var isCertain = false
  private var isOpen = true
  hits.readerOpens()

  override def next(): Boolean = {
    while (current.exists(!_.next())) endFile()
    while (current.isEmpty && file + 1 < partition.files.length) {
      startFile()
      if (!current.get.next()) endFile()
    }
    if (current.isEmpty) ends()
    current.nonEmpty
  }

  private def startFile(): Unit = {
    file += 1
    current = Some(create(FilePartition(partition.index, Array(partition.files(file)))))
    isCertain = hits.startFile()
  }

  private def endFile(): Unit = {
    // certain from the first row on, and still at the end: no row of the file was missed
    if (isCertain) hits.endFile().foreach(learner.ended(partition.index, file, _))
    closeFile()
  }

  private def closeFile(): Unit = {
    current.foreach(_.close())
    current = None
  }

  private def ends(): Unit = if (isOpen) {
    isOpen = false
    hits.readerEnds()
  }

  override def get(): T = current.get.get()
  override def close(): Unit = { closeFile(); ends() }
  override def currentMetricsValues(): Array[CustomTaskMetric] =
    current.fold(Array.empty[CustomTaskMetric])(_.currentMetricsValues())
}
