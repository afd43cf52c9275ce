package io.tamis.formats

import io.tamis.listing.{Listing, ListingCache, MalformedRecords, ReadFingerprint}
import io.tamis.planning.{FileSelection, IndexedTable, SwappedFiles}
import io.tamis.scan.WrittenFileIndex

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  FileStatusWithMetadata,
  HadoopFsRelation,
  PartitionDirectory,
  PartitioningAwareFileIndex
}
import org.apache.spark.sql.types.StructType

/** Files that Spark's own readers read. */
private[formats] class SparkFiles(relation: HadoopFsRelation, name: String) extends IndexedFiles {

  override def roots: Seq[Path] = relation.location.rootPaths
  override def columns: StructType = IndexedTable.columnsOfFiles(relation)
  override def partitionColumns: StructType = relation.partitionSchema

  override lazy val listing: Listing = {
    relation.location.refresh()
    val index = relation.location match {
      case files: PartitioningAwareFileIndex => files
      case catalog: CatalogFileIndex         => catalog.filterPartitions(Nil)
      case other                             =>
        throw new IllegalArgumentException(
          s"the files of $name are chosen by ${other.getClass.getSimpleName}, which is " +
            "not one of Spark's own file indexes, so no statistics index can be built over them"
        )
    }
    ListingCache.of(index, relation.partitionSchema)()
  }

  override def details: Seq[(String, Any)] = ReadFingerprint.of(relation).toSeq.flatMap { reading =>
    Seq("reading" -> reading, "overlapping" -> relation.overlappedPartCols.nonEmpty) ++
      MalformedRecords.column(relation).map("malformed_record" -> _)
  }

  override def rows(asLines: Boolean, skipsUnreadable: Boolean): Dataset[Row] = {
    relation.location.refresh()
    val skipping = relation.options ++ SparkFiles.SkipsUnreadable
    val files =
      if (skipsUnreadable) relation.copy(options = skipping)(relation.sparkSession) else relation
    relation.sparkSession.baseRelationToDataFrame(
      if (asLines) MalformedRecords.lines(files) else MalformedRecords.shown(files)
    )
  }
}

private[formats] object SparkFiles {
  private val SkipsUnreadable =
    Seq("ignoreCorruptFiles" -> "true", "ignoreMissingFiles" -> "true")

  /** Files that a table format lists, without the times that it records, which may differ from
    * those of the files. Every row that was written is read, also those that were deleted since.
    *
    * @param directories
    *   of all files of a version
    * @param refusal
    *   why no index describes them
    * @param more
    *   what else decides which values are read from them
    */
  def ofFormat(
      relation: HadoopFsRelation,
      directories: Seq[PartitionDirectory],
      format: String,
      refusal: Option[String],
      more: Option[(String, Any)]
  ): IndexedFiles = {
    val timeless = directories.map(d => PartitionDirectory(d.values, d.files.map(unchanging)))
    val listed = Listing.of(timeless, relation.partitionSchema)
    val files = SwappedFiles(relation.sparkSession, relation, None)
    val index = new WrittenFileIndex(files, FileSelection.all(listed))
    new SparkFiles(relation.copy(location = index)(relation.sparkSession), format) {
      override lazy val listing: Listing = listed
      override def details: Seq[(String, Any)] =
        Seq("table_format" -> format) ++ refusal.map("refusal" -> _) ++ more
    }
  }

  private def unchanging(file: FileStatusWithMetadata): FileStatusWithMetadata =
    FileStatusWithMetadata(
      new FileStatus(file.getLen, false, 0, 1, IndexedFiles.Unchanging, file.getPath)
    )
}
