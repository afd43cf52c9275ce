package io.tamis.remember

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.vectorized.ColumnarBatch

/** The readers of a scan, which also note the files and row groups that were read to their end, and
  * whether no row of them, or every row, passed the filter.
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
    case files: FilePartition if learner.isAsPlanned => new NotingReader(files, learner, create)
    case other                                       => create(other)
  }
}

/** Reads the files of a partition one after the other, each with a reader of Spark's.
  *
  * A file counts only if its reader was asked for rows until it had none: the consumer has then
  * taken every row before, which a LIMIT, a join that ends early, or an error would prevent. The
  * same holds for a row group if the reader was asked for rows until it returned those of another.
  *
  * What was found is handed over once, after the last file or when the task closes the reader,
  * which it does before its results are collected.
  */
private final class NotingReader[T](
    partition: FilePartition,
    learner: Learner,
    create: InputPartition => PartitionReader[T]
) extends PartitionReader[T] {
  private val hits = learner.hits()
  private var file = -1
  private var current: Option[PartitionReader[T]] = None
  private var progress: SplitProgress = _ // of `current`
  private var isAsListed = false // likewise
  private val found = mutable.ArrayBuffer.empty[(Int, SplitOutcome)] // by file
  private var isOpen = true
  hits.readerOpens()

  override def next(): Boolean = {
    while (current.isDefined && !advances()) endFile()
    while (current.isEmpty && file + 1 < partition.files.length) {
      startFile()
      if (!advances()) endFile()
    }
    if (current.isEmpty) ends()
    current.nonEmpty
  }

  private def advances(): Boolean = {
    val reader = current.get
    val hasRows = reader.next()
    if (hasRows) progress.loaded(reader)
    hasRows
  }

  private def startFile(): Unit = {
    file += 1
    val split = partition.files(file)
    isAsListed = learner.isAsListed(split)
    current = Some(create(FilePartition(partition.index, Array(split))))
    val isWhole = split.start == 0 && split.length == split.fileSize
    progress = new SplitProgress(hits, isWhole, RowGroupPosition.of)
  }

  private def endFile(): Unit = {
    note(progress.ended())
    closeFile()
  }

  /** A file that was replaced while it was read, or before, is not the one that was listed. */
  private def note(outcome: Option[SplitOutcome]): Unit =
    outcome
      .filter(_ => isAsListed && learner.isAsListed(partition.files(file)))
      .foreach(o => found += file -> o)

  private def closeFile(): Unit = {
    current.foreach(_.close())
    current = None
  }

  private def ends(): Unit = if (isOpen) {
    isOpen = false
    hits.readerEnds()
    learner.noted(partition.index, found)
  }

  override def get(): T = current.get.get()
  override def close(): Unit = {
    if (current.isDefined) note(progress.stopped())
    closeFile()
    ends()
  }
  override def currentMetricsValues(): Array[CustomTaskMetric] =
    current.fold(Array.empty[CustomTaskMetric])(_.currentMetricsValues())
}
