// Classes with the names of Delta's, which tamis compares.

package org.apache.spark.sql.delta {

  import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

  class DeltaParquetFileFormat(columnMapping: String) extends ParquetFileFormat {
    def metadata: AnyRef = this
    def columnMappingMode: AnyRef = this
    def name: String = columnMapping
    def protocol: AnyRef = this
    def readerAndWriterFeatureNames: Set[String] = Set.empty
    def isCDCRead: Boolean = false
  }
}

package org.apache.spark.sql.delta.stats {

  import org.apache.hadoop.fs.Path
  import org.apache.spark.sql.catalyst.expressions.Expression
  import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}
  import org.apache.spark.sql.types.StructType

  /** @param deletionVector
    *   of its only file
    */
  class PreparedDeltaFileIndex(val deletionVector: AnyRef) extends FileIndex {
    def preparedScan: AnyRef = this
    def files: Seq[AnyRef] = Seq(this)
    def path: String = "file"

    override def rootPaths: Seq[Path] = Nil
    override def listFiles(
        partitionFilters: Seq[Expression],
        dataFilters: Seq[Expression]
    ): Seq[PartitionDirectory] = Nil
    override def inputFiles: Array[String] = Array.empty
    override def refresh(): Unit = ()
    override def sizeInBytes: Long = 0
    override def partitionSchema: StructType = new StructType
  }
}
