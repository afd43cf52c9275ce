package io.tamis.listing

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.RootAllocator
import org.apache.arrow.vector.ipc.ArrowFileReader
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}

/** Rows of an Arrow IPC file that the sidecar has written: bulk data never travels through py4j.
  *
  * Its columns have types that Spark supports (timestamps in microseconds, no dictionaries).
  */
final case class ArrowFile[A](schema: StructType, rows: IndexedSeq[A])

object ArrowFile {
  private lazy val allocator = new RootAllocator(Long.MaxValue)

  /** Reads all rows of a file.
    *
    * @param convert
    *   converts a row, which is reused for the next call
    */
  def read[A](file: Path)(convert: InternalRow => A): ArrowFile[A] = {
    val in = Files.newByteChannel(file)
    // closes the channel as well
    val reader = new ArrowFileReader(in, allocator)
    try {
      val root = reader.getVectorSchemaRoot
      def columns = root.getFieldVectors.asScala.map(new ArrowColumnVector(_)).toArray
      val schema = StructType(root.getFieldVectors.asScala.toSeq.zip(columns).map { case (v, c) =>
        StructField(v.getName, c.dataType)
      })
      val rows = IndexedSeq.newBuilder[A]
      while (reader.loadNextBatch()) {
        val batch = new ColumnarBatch(columns.map(c => c: ColumnVector), root.getRowCount)
        batch.rowIterator.asScala.foreach(row => rows += convert(row))
      }
      ArrowFile(schema, rows.result())
    } finally reader.close()
  }
}
