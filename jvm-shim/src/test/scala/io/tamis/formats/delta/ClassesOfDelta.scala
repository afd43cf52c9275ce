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

  import io.tamis.listing.NoFiles

  /** @param deletionVector
    *   of its only file
    */
  class PreparedDeltaFileIndex(val deletionVector: AnyRef) extends NoFiles {
    def preparedScan: AnyRef = this
    def files: Seq[AnyRef] = Seq(this)
    def path: String = "file"
  }
}
