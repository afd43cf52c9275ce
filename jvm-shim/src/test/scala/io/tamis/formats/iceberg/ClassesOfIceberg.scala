// Classes with the names of Iceberg's, which tamis compares.

package org.apache.iceberg {

  import java.util

  class BaseTable

  class DataFile(val format: String, val fileSizeInBytes: Long)

  trait FileScanTask {
    def file: DataFile
    def start: Long
    def length: Long
    def sizeBytes: Long
    def estimatedRowsCount: Long
    def split(size: Long): util.List[FileScanTask]
  }

  class BaseFileScanTask(
      override val file: DataFile,
      override val start: Long,
      override val length: Long
  ) extends FileScanTask {
    override def sizeBytes: Long = length + 30
    override def estimatedRowsCount: Long = length
    override def split(size: Long): util.List[FileScanTask] = util.List.of(this)
  }

  object BaseFileScanTask {
    class SplitScanTask private[iceberg] (
        override val start: Long,
        override val length: Long,
        val parent: FileScanTask
    ) extends FileScanTask {
      override def file: DataFile = parent.file
      override def sizeBytes: Long = length
      override def estimatedRowsCount: Long = length
      override def split(size: Long): util.List[FileScanTask] =
        throw new UnsupportedOperationException("already split")
    }
  }
}

package org.apache.iceberg.rest {
  class RESTTable extends org.apache.iceberg.BaseTable
}

package org.apache.iceberg.spark.source {

  import java.util
  import org.apache.spark.sql.connector.catalog.{Table, TableCapability}

  class SparkTable(inner: AnyRef) extends Table {
    def table(): AnyRef = inner
    override def name(): String = "t"
    override def capabilities(): util.Set[TableCapability] = util.Set.of()
  }
}
