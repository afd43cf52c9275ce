package io.tamis.formats.iceberg

import io.tamis.bridge.{PlannerClient, SidecarSupervisor, StartWait}
import io.tamis.conf.TamisConf
import io.tamis.formats.IndexedFiles
import io.tamis.listing.{ArrowFile, FileOptions, Listing, RecordedFileIndex}
import io.tamis.planning.{FileSelection, ReadingTime}
import io.tamis.wire.IcebergFilesRequest
import java.nio.file.Files
import java.util
import java.util.BitSet

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.internal.SQLConf

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

  /** The ordinals of all files in the listing, by location. */
  lazy val ordinals: IcebergFiles.Ordinals = ordinalsIn(_ => true)

  /** What the manifests that list these files list. */
  def part(of: FileSelection): IcebergFiles.Part = {
    val places = new BitSet(manifests.size)
    of.foreach(file => places.set(manifestOf(file)))
    IcebergFiles.Part(
      places.stream.mapToObj(manifests(_)).iterator.asScala.toSet,
      ordinalsIn(places.get)
    )
  }

  private def ordinalsIn(isChosen: Int => Boolean): IcebergFiles.Ordinals = {
    val ordinals = new util.HashMap[String, Int]
    locations.indices.foreach(i => if (isChosen(manifestOf(i))) ordinals.put(locations(i), i))
    ordinals
  }

  def size: Int = locations.length
}

private[iceberg] object IcebergFiles {
  type Ordinals = util.Map[String, Int]

  /** @param manifests
    *   locations of some manifests
    * @param ordinals
    *   of the files that they list, by location
    */
  final case class Part(manifests: Set[String], ordinals: Ordinals)

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

  private def of(
      session: SparkSession,
      table: IcebergTable,
      manifests: IndexedSeq[String],
      rows: IndexedSeq[Row]
  ): IcebergFiles = {
    val uris = rows.map(_.uri).toArray
    val listing = Listing.recorded(uris, rows.map(_.size).toArray, IndexedFiles.Unchanging)
    new IcebergFiles(
      new RecordedFileIndex(session, Seq(table.location), listing, table.snapshot),
      rows.map(_.location).toArray,
      manifests,
      rows.map(_.manifest).toArray
    )
  }

  private final case class Row(location: String, uri: String, size: Long, manifest: Int)

  private def rowsOf(file: java.nio.file.Path): IndexedSeq[Row] = ArrowFile
    .read(file) { row =>
      val location = row.getUTF8String(0).toString
      val uri = if (row.isNullAt(1)) location else row.getUTF8String(1).toString
      Row(location, uri, row.getLong(2), row.getInt(3))
    }
    .rows
}
