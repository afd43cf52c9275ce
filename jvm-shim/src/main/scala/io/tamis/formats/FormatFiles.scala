package io.tamis.formats

import io.tamis.listing.Listing
import io.tamis.planning.{FileSelection, SwappedFiles}
import io.tamis.scan.WrittenFileIndex

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.execution.datasources.{
  FileStatusWithMetadata,
  HadoopFsRelation,
  PartitionDirectory
}

/** The data files of a table of Delta, for its statistics index.
  *
  * @param relation
  *   reads them with Spark's own Parquet reader: every row that was written, also those that were
  *   deleted since
  * @param format
  *   delta
  * @param refusal
  *   why no index describes them
  */
final case class FormatFiles(
    relation: HadoopFsRelation,
    listing: Listing,
    format: String,
    refusal: Option[String]
)

object FormatFiles {

  /** The modification time of files that never change, in milliseconds since 1970
    * (tamis.indexing.read.freshness).
    */
  val Unchanging: Long = -2L

  /** The files, without the times that the format records, which may differ from those of the
    * files.
    *
    * @param directories
    *   of all files of a version
    */
  private[formats] def of(
      relation: HadoopFsRelation,
      directories: Seq[PartitionDirectory],
      format: String,
      refusal: Option[String]
  ): FormatFiles = {
    val timeless = directories.map(d => PartitionDirectory(d.values, d.files.map(unchanging)))
    val listing = Listing.of(timeless, relation.partitionSchema)
    val files = SwappedFiles(relation.sparkSession, relation, None)
    val index = new WrittenFileIndex(files, FileSelection.all(listing))
    FormatFiles(relation.copy(location = index)(relation.sparkSession), listing, format, refusal)
  }

  private def unchanging(file: FileStatusWithMetadata): FileStatusWithMetadata =
    FileStatusWithMetadata(new FileStatus(file.getLen, false, 0, 1, Unchanging, file.getPath))
}
