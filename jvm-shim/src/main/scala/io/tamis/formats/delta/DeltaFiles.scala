package io.tamis.formats.delta

import io.tamis.conf.TamisConf
import io.tamis.formats.{FormatFailure, IndexedFiles, Members, PathTable, SparkFiles}
import io.tamis.listing.TableSize
import io.tamis.remote.ExecutorJar
import io.tamis.rules.relations.FileRelation
import io.tamis.scan.{FilesReader, TamisTable}
import io.tamis.wire.{MappedColumns, Reason, Reasons}
import java.lang.ref.SoftReference
import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{
  FileFormat,
  FileIndex,
  HadoopFsRelation,
  LogicalRelation
}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{LongType, StructField}

/** A relation of Delta over the files that Delta has chosen for a query: every file of the version
  * that is read, except those that Delta's own data skipping has left out.
  *
  * Delta chooses them in a rule of its own, before the rules of tamis if its extension is listed
  * first. The files are those that satisfy the filters and the LIMIT directly over the relation.
  *
  * All members of Delta's classes are accessed in this package, by reflection: seen in Delta 4.4.0
  * for Spark 4.1.
  */
final class DeltaFiles private (private val relation: HadoopFsRelation) {
  private val index: FileIndex = relation.location
  private val scan: AnyRef = Members.call(index, "preparedScan")
  private val reader = new DeltaReader(relation.fileFormat)
  private val addFiles: Seq[AnyRef] =
    DeltaListing.distinct(Members.get[Seq[AnyRef]](scan, "files"))
  private val hasDeletionVectors: Boolean =
    addFiles.exists(Members.call(_, "deletionVector") != null)

  /** Whether Spark's own Parquet reader may return other rows than Delta's reader. */
  private val needsDeltasReader: Boolean = hasDeletionVectors || reader.isNeeded

  /** Why Delta's own relation stays; None: a table of tamis may replace it. Its scans need classes
    * of tamis on executors if they have Delta's reader.
    */
  def ofDeltasRelation: Option[Reason] =
    if (!needsDeltasReader) None
    else if (reader.needsRelation) Some(Reasons("DELTA_RELATION"))
    else if (!TamisConf.deltaReaderEnabled(SQLConf.get)) Some(Reasons("DELTA_READER_IS_OFF"))
    else
      Option.when(!ExecutorJar.isThere(relation.sparkSession.sparkContext))(
        Reasons("DELTA_EXECUTORS_LACK_JAR")
      )

  /** The table that replaces the relation. */
  def table(session: SparkSession, logical: LogicalRelation): TamisTable =
    if (!needsDeltasReader) new TamisTable(session, recordedAsParquet, logical.catalogTable)
    else new TamisTable(session, recorded, logical.catalogTable, reader = formatReader(logical))

  /** Delta's reader. Its format marks deleted rows in an internal column, and finds them by their
    * places in the file, which Spark's reader generates; ScanWithDeletionVectors adds both columns.
    */
  private def formatReader(logical: LogicalRelation): FilesReader =
    withoutDeletedRows(logical) match {
      case None =>
        require(!hasDeletionVectors, "Delta does not apply the deletion vectors of its files")
        new DeltaFormatReader(relation, Nil)
      case Some(plan) =>
        val (scan, files) = plan.collectFirst { case FileRelation(r, f) => r -> f }.get
        val mark = files.dataSchema.fields.last
        require(mark.name.startsWith(DeltaFiles.InternalColumn), s"no mark in ${files.dataSchema}")
        val usesPlaces = scan.output.exists(_.name == FileFormat.METADATA_NAME)
        val place = StructField(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME, LongType)
        new DeltaFormatReader(files, mark +: Option.when(usesPlaces)(place).toSeq)
    }

  /** Why Delta's own file index must stay; None: tamis may list the files for Delta's reader. Its
    * reader finds deleted rows by their row index, which a query of `_metadata` numbers otherwise.
    */
  def ofDeltasIndex(readsMetadata: Boolean): Option[Reason] =
    if (readsMetadata && hasDeletionVectors) Some(Reasons("DELTA_DELETION_VECTORS_AND_METADATA"))
    else None

  /** The same relation over a listing of these files. */
  def recorded: HadoopFsRelation =
    relation.copy(location = recordedIndex)(relation.sparkSession)

  /** The same, read by Spark's own Parquet reader. Delta declares partition columns as columns of
    * the files; their values are those of the log, whatever files contain.
    */
  private def recordedAsParquet: HadoopFsRelation = relation
    .copy(location = recordedIndex, fileFormat = new ParquetFileFormat)(relation.sparkSession)

  private lazy val recordedIndex = {
    val snapshot = Members.call(scan, "scannedSnapshot")
    new DeltaListing(relation).recordedIndex(addFiles, snapshot, tableSize)
  }

  /** None if Delta has not counted the files of the version. */
  private def tableSize: Option[TableSize] = {
    val total = Members.call(scan, "total")
    for {
      files <- Members.get[Option[Long]](total, "files")
      bytes <- Members.get[Option[Long]](total, "bytesCompressed")
    } yield TableSize(files, bytes)
  }

  /** Delta's own plan for this relation if some of the files have deletion vectors: a filter over a
    * scan that marks the deleted rows. None if none has.
    *
    * Delta would make it later, when it plans the query, but recognizes only relations with its own
    * file index then.
    */
  def withoutDeletedRows(logical: LogicalRelation): Option[LogicalPlan] =
    Members.get[Option[LogicalPlan]](
      Members.singleton(index.getClass.getClassLoader, DeltaFiles.DeletionVectors),
      "dvEnabledScanFor",
      logical,
      relation,
      relation.fileFormat,
      index
    )
}

object DeltaFiles {
  private val Prepared = "org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex"
  private val Unprepared = "org.apache.spark.sql.delta.files.TahoeLogFileIndex"
  private[delta] val Extension = "io.delta.sql.DeltaSparkSessionExtension"
  private val OfTamis = "io.tamis.TamisExtensions"
  private val Format = "org.apache.spark.sql.delta.DeltaParquetFileFormat"
  private val DeletionVectors = "org.apache.spark.sql.delta.ScanWithDeletionVectors"

  /** Names of columns that Delta adds to scans begin so. */
  val InternalColumn = "__delta_internal"

  /** Only exactly these classes: others choose files in ways that are not known here. */
  def unapply(relation: HadoopFsRelation): Option[DeltaFiles] =
    if (!isOfDelta(relation) || relation.location.getClass.getName != Prepared) None
    else
      FormatFailure.kept(Option.empty[DeltaFiles])(Some(recently(relation).getOrElse {
        val files = new DeltaFiles(relation)
        remember(files)
        files
      }))

  /** Why Delta has not chosen the files before the rules of tamis; None: it has, or the relation is
    * not one of Delta. A plan that is optimized no longer shows that it chose them after these
    * rules.
    */
  def unprepared(relation: HadoopFsRelation): Option[Reason] = {
    val index = relation.location.getClass.getName
    if (!isOfDelta(relation) || !Set(Prepared, Unprepared)(index)) None
    else if (isListedAfterTamis(relation.sparkSession)) Some(Reasons("DELTA_LISTED_AFTER_TAMIS"))
    else Option.when(index == Unprepared)(Reasons("DELTA_CHOSE_NO_FILES"))
  }

  private[delta] def isListedAfterTamis(session: SparkSession): Boolean = {
    val conf = session.sparkContext.getConf
    val names = conf.get("spark.sql.extensions", "").split(",").map(_.trim)
    names.indexOf(Extension) > names.indexOf(OfTamis)
  }

  /** Several rules of one plan ask about a relation, and its files may be many. */
  private val Remembered = 4
  private val recent = new util.ArrayDeque[SoftReference[DeltaFiles]]

  private def recently(relation: HadoopFsRelation): Option[DeltaFiles] = recent.synchronized {
    recent.asScala.flatMap(r => Option(r.get)).find { files =>
      (files.relation.location eq relation.location) &&
      (files.relation.fileFormat eq relation.fileFormat)
    }
  }

  private def remember(files: DeltaFiles): Unit = recent.synchronized {
    recent.addFirst(new SoftReference(files))
    while (recent.size > Remembered) recent.removeLast()
  }

  /** The files of the version of a relation, for an index; None: it is not one of Delta. */
  def indexed(relation: HadoopFsRelation): Option[IndexedFiles] =
    if (!isOfDelta(relation)) None
    else {
      val reader = new DeltaReader(relation.fileFormat)
      val format = relation.fileFormat match {
        case delta: ParquetFileFormat if reader.mapsColumns => new MappedFormat(delta)
        case _                                              => new ParquetFileFormat
      }
      val readable = relation.copy(fileFormat = format)(relation.sparkSession)
      val files = relation.location.listFiles(Nil, Nil)
      val mapped = Option.when(reader.mapsColumns && reader.refusal.isEmpty)(
        MappedColumns(reader.schema.json, reader.columnMapping, reader.partitionColumns)
      )
      Some(SparkFiles.ofFormat(readable, files, "delta", reader.refusal, mapped.map("delta" -> _)))
    }

  /** Whether a path is that of a table of Delta, and Delta can read it. */
  def isTable(session: SparkSession, path: String): Boolean =
    PathTable.isOne(session, path, Format, "_delta_log")

  private[delta] def isOfDelta(relation: HadoopFsRelation): Boolean =
    relation.fileFormat.getClass.getName == Format
}
