package io.tamis.formats.iceberg

import io.tamis.bridge.{PlannerClient, RecentlyUsed, SidecarSupervisor}
import io.tamis.conf.TamisConf
import io.tamis.listing.{ArrowFile, FileOptions, Listing, RecordedFileIndex}
import io.tamis.wire.{IcebergFilesRequest, IcebergSnapshot}
import java.net.URI
import java.nio.file.Files
import java.util

import scala.collection.mutable

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
  * @param records
  *   in each file, including rows that were deleted since
  * @param plain
  *   the files that Spark's own Parquet reader can read: neither encrypted, nor of another format,
  *   nor with rows that may have been deleted
  * @param allParquet
  *   whether all files are Parquet that is not encrypted
  */
private[iceberg] final class IcebergFiles(
    val index: RecordedFileIndex,
    locations: Array[String],
    records: Array[Long],
    plain: util.BitSet,
    val allParquet: Boolean
) {
  private lazy val ordinals: mutable.HashMap[String, Int] =
    mutable.HashMap.from(locations.iterator.zipWithIndex)

  /** The ordinal of a file in the listing. */
  def ordinalOf(location: String): Option[Int] = ordinals.get(location)

  def arePlain(files: util.BitSet): Boolean = {
    val others = files.clone().asInstanceOf[util.BitSet]
    others.andNot(plain)
    others.isEmpty
  }

  def recordsIn(files: util.BitSet): Long = files.stream.mapToLong(records(_)).sum
}

private[iceberg] object IcebergFiles {

  /** The modification time of every file: they are never changed. */
  private val Unchanging = 946684800000L

  private val Remembered = 32
  private val known =
    new RecentlyUsed[(String, Path, IcebergSnapshot), IcebergFiles](Remembered)

  /** The files of the snapshot of a table.
    *
    * @return
    *   Left: why they cannot be read
    * @throws io.tamis.bridge.PlannerUnavailable
    *   the sidecar does not answer
    */
  def of(session: SparkSession, table: IcebergTable): Either[String, IcebergFiles] = {
    val key = (session.sparkContext.applicationId, table.location, table.snapshot)
    known.get(key) match {
      case Some(files) => Right(files)
      case None        =>
        val read = this.read(session, table)
        read.foreach(known.put(key, _))
        read
    }
  }

  private def read(session: SparkSession, table: IcebergTable): Either[String, IcebergFiles] = {
    val conf = SQLConf.get
    val directory = SidecarSupervisor.privateDirectory
    val request = IcebergFilesRequest(
      directory.toString,
      table.snapshot,
      FileOptions.storage(session, Seq(table.location), Map.empty),
      TamisConf.cacheLocation(conf)
    )
    val file = directory.resolve(s"${request.id}.iceberg.arrow")
    try
      PlannerClient.ask(request, conf)(_.icebergFiles).toLeft(of(session, table, rowsOf(file)))
    finally Files.deleteIfExists(file)
  }

  private final case class Row(
      location: String,
      uri: String,
      size: Long,
      records: Long,
      isPlain: Boolean,
      isParquet: Boolean
  )

  private def rowsOf(file: java.nio.file.Path): IndexedSeq[Row] = ArrowFile
    .read(file) { row =>
      Row(
        text(row, 0),
        text(row, 1),
        row.getLong(2),
        row.getLong(3),
        row.getBoolean(4),
        row.getBoolean(5)
      )
    }
    .rows

  private def text(row: InternalRow, column: Int): String = row.getUTF8String(column).toString

  private def of(
      session: SparkSession,
      table: IcebergTable,
      rows: IndexedSeq[Row]
  ): IcebergFiles = {
    val files = rows.map { row =>
      val path = new Path(URI.create(row.uri))
      FileStatusWithMetadata(new FileStatus(row.size, false, 0, 1, Unchanging, path))
    }
    val listing =
      Listing.of(Seq(PartitionDirectory(InternalRow.empty, files)), new StructType())
    val plain = new util.BitSet(rows.size)
    rows.indices.foreach(i => if (rows(i).isPlain) plain.set(i))
    new IcebergFiles(
      new RecordedFileIndex(session, Seq(table.location), listing, table.snapshot),
      rows.map(_.location).toArray,
      rows.map(_.records).toArray,
      plain,
      rows.forall(_.isParquet)
    )
  }
}
