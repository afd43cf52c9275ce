package io.tamis.formats.iceberg

import io.tamis.bridge.{PlannerClient, SidecarSupervisor, StartWait}
import io.tamis.conf.TamisConf
import io.tamis.formats.FormatFiles
import io.tamis.listing.{ArrowFile, FileOptions, Listing, RecordedFileIndex}
import io.tamis.planning.{FileSelection, ReadingTime}
import io.tamis.wire.IcebergFilesRequest
import java.net.URI
import java.nio.file.Files
import java.util.BitSet

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FileStatusWithMetadata, PartitionDirectory}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** The data files of a snapshot, as its manifests list them.
  *
  * @param locations
  *   of the files, as Iceberg writes them, in the order of the listing
  * @param manifests
  *   locations of the manifests that list them
  * @param manifestOf
  *   for each file, the place of its manifest among them
  */
private[iceberg] final class IcebergFiles(
    val index: RecordedFileIndex,
    locations: Array[String],
    manifests: IndexedSeq[String],
    manifestOf: Array[Int]
) {
  private lazy val ordinals: mutable.HashMap[String, Int] =
    mutable.HashMap.from(locations.iterator.zipWithIndex)

  /** The ordinal of a file in the listing. */
  def ordinalOf(location: String): Option[Int] = ordinals.get(location)

  /** Locations of the manifests that list these files. */
  def manifestsOf(files: FileSelection): Set[String] = {
    val places = new BitSet(manifests.size)
    files.foreach(file => places.set(manifestOf(file)))
    places.stream.mapToObj(manifests(_)).iterator.asScala.toSet
  }

  def size: Int = locations.length
}

private[iceberg] object IcebergFiles {

  private val known = new KnownSnapshots

  /** The files of the snapshot of a table.
    *
    * @return
    *   Left: why they cannot be read
    * @throws io.tamis.bridge.PlannerUnavailable
    *   the sidecar does not answer
    */
  def of(session: SparkSession, table: IcebergTable): Either[String, IcebergFiles] = {
    val key = (session.sparkContext.applicationId, table.location, table.snapshot)
    known.getOrElse(key)(read(session, table))
  }

  private def read(session: SparkSession, table: IcebergTable): KnownSnapshots.Outcome = {
    val conf = SQLConf.get
    val directory = SidecarSupervisor.privateDirectory
    val request = IcebergFilesRequest(
      directory.toString,
      table.snapshot,
      FileOptions.storage(session, Seq(table.location), Map.empty),
      TamisConf.cacheLocation(conf),
      TamisConf.timeoutMs(conf) / 2
    )
    val file = directory.resolve(s"${request.id}.iceberg.arrow")
    try {
      val startWait = table.size.filterNot(_ => TamisConf.isGuarded(conf)) match {
        case Some(size) =>
          StartWait.atMost(ReadingTime.millis(size.files, size.bytes, conf))
        case None => StartWait.Full
      }
      val answer = PlannerClient.ask(request, conf, startWait)(_.icebergFiles)
      KnownSnapshots.Outcome(
        answer.problem.toLeft(of(session, table, answer.manifests, rowsOf(file))),
        isFinal = !answer.isPending
      )
    } finally Files.deleteIfExists(file)
  }

  /** Location, URI, size and manifest of each file. */
  private def rowsOf(file: java.nio.file.Path): IndexedSeq[(String, String, Long, Int)] = ArrowFile
    .read(file)(row => (text(row, 0), text(row, 1), row.getLong(2), row.getInt(3)))
    .rows

  private def text(row: InternalRow, column: Int): String = row.getUTF8String(column).toString

  private def of(
      session: SparkSession,
      table: IcebergTable,
      manifests: IndexedSeq[String],
      rows: IndexedSeq[(String, String, Long, Int)]
  ): IcebergFiles = {
    val files = rows.map { case (_, uri, size, _) =>
      FileStatusWithMetadata(
        new FileStatus(size, false, 0, 1, FormatFiles.Unchanging, new Path(URI.create(uri)))
      )
    }
    val listing = Listing.of(Seq(PartitionDirectory(InternalRow.empty, files)), new StructType())
    new IcebergFiles(
      new RecordedFileIndex(session, Seq(table.location), listing, table.snapshot),
      rows.map(_._1).toArray,
      manifests,
      rows.map(_._4).toArray
    )
  }
}
