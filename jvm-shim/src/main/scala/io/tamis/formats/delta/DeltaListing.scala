package io.tamis.formats.delta

import io.tamis.formats.Members
import io.tamis.listing.{Listing, RecordedFileIndex, TableSize}
import io.tamis.wire.{DeltaSnapshot, Digest}
import java.nio.charset.StandardCharsets.UTF_8
import java.util

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{
  FileStatusWithMetadata,
  HadoopFsRelation,
  PartitionDirectory
}

/** The files that a file index of Delta lists, with the log that records their statistics.
  *
  * @param relation
  *   its location is a file index of Delta
  */
private[delta] final class DeltaListing(relation: HadoopFsRelation) {
  private val index = relation.location

  /** @param addFiles
    *   Delta's entries for the files, each once
    */
  def recordedIndex(
      addFiles: Seq[AnyRef],
      snapshot: AnyRef,
      tableSize: Option[TableSize]
  ): RecordedFileIndex = {
    val all = SnapshotFiles.listed(addFiles, relation).getOrElse(listed(addFiles)).listing
    recorded(if (tableSize.exists(_.files != all.size)) all.partOf(tableSize) else all, snapshot)
  }

  /** The same for files that were listed before. */
  def recorded(listing: Listing, snapshot: AnyRef): RecordedFileIndex =
    new RecordedFileIndex(
      relation.sparkSession,
      index.rootPaths,
      listing,
      DeltaListing.snapshotOf(snapshot, relation)
    )

  def listed(addFiles: Seq[AnyRef]): DeltaListing.Listed = {
    val groups =
      if (relation.partitionSchema.isEmpty) Seq(InternalRow.empty -> addFiles)
      else
        addFiles
          .groupBy(Members.get[Map[String, String]](_, "partitionValues"))
          .toSeq
          .map { case (values, files) =>
            Members.get[InternalRow](index, "getPartitionValuesRow", values) -> files
          }
    val directories = groups.map { case (values, files) =>
      PartitionDirectory(values, files.map(status))
    }
    DeltaListing.Listed(
      Listing.of(directories, relation.partitionSchema),
      groups.flatMap(_._2).toIndexedSeq
    )
  }

  def status(addFile: AnyRef): FileStatusWithMetadata =
    Members.get[FileStatusWithMetadata](index, "fileStatusWithMetadataFromAddFile", addFile)
}

private[delta] object DeltaListing {

  /** @param addFiles
    *   Delta's entries in the order of the listing
    */
  final case class Listed(listing: Listing, addFiles: IndexedSeq[AnyRef])

  /** Each entry once. Entries with different paths differ, and paths are cheaper to compare: an
    * entry has the statistics of its file.
    */
  def distinct(addFiles: Seq[AnyRef]): Seq[AnyRef] = {
    val paths = new util.HashSet[AnyRef]
    if (addFiles.forall(file => paths.add(Members.call(file, "path")))) addFiles
    else addFiles.distinct
  }

  /** The version of a table, by the files of its log. */
  def snapshotOf(of: AnyRef, relation: HadoopFsRelation): DeltaSnapshot = {
    val reader = new DeltaReader(relation.fileFormat)
    val segment = Members.call(of, "logSegment")
    val checkpoint = Members.call(segment, "checkpointProvider")
    val (ofCheckpoint, commits) = (
      Members.get[Seq[FileStatus]](checkpoint, "topLevelFiles"),
      Members.get[Seq[FileStatus]](segment, "deltas")
    )
    DeltaSnapshot(
      Members.get[Long](of, "version"),
      Members.get[Path](of, "dataPath").toUri.toString,
      ofCheckpoint.map(uriOf),
      commits.map(uriOf),
      stateOf(Members.get[String](reader.metadata, "id"), ofCheckpoint ++ commits),
      reader.schema.json,
      reader.columnMapping,
      reader.partitionColumns
    )
  }

  private def uriOf(file: FileStatus): String = file.getPath.toUri.toString

  private def stateOf(table: String, files: Seq[FileStatus]): String = {
    val each = files.map(file => s"${file.getLen} ${file.getModificationTime}")
    Digest.sha256((table +: each).mkString("\n").getBytes(UTF_8), 16)
  }
}
