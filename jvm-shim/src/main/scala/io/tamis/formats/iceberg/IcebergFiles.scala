package io.tamis.formats.iceberg

import io.tamis.bridge.{PlannerClient, SidecarSupervisor, StartWait, Warnings}
import io.tamis.conf.{Mode, TamisConf}
import io.tamis.formats.IndexedFiles
import io.tamis.listing.{ArrowFile, FileOptions, Listing, RecordedFileIndex, TableSize}
import io.tamis.planning.{FileSelection, Question, ReadingTime}
import io.tamis.wire.{IcebergFilesAnswer, IcebergFilesRequest}
import java.nio.file.Files
import java.util
import java.util.BitSet

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StructField, StructType}

/** The data files of a snapshot, or of some of its manifests: files of the others hold no row that
  * passes the filters of the query.
  *
  * @param locations
  *   of the files, as Iceberg writes them, in the order of the listing
  * @param manifests
  *   locations of the manifests that list them
  * @param manifestOf
  *   for each file, the place of its manifest among them
  * @param listed
  *   these manifests, as in IcebergSnapshot; None: all of the snapshot
  */
private[iceberg] final class IcebergFiles(
    val index: RecordedFileIndex,
    locations: Array[String],
    manifests: IndexedSeq[String],
    manifestOf: Array[Int],
    val listed: Option[ObjectNode]
) {
  def isWhole: Boolean = listed.isEmpty

  /** Whether a file of the snapshot lies in a manifest that is not listed: then no row of it passes
    * the filters.
    *
    * @param file
    *   of one of Iceberg's tasks
    */
  def rulesOut(file: AnyRef): Boolean =
    !isWhole && IcebergTasks.manifestOf(file).exists(!manifestSet(_))

  private lazy val manifestSet = manifests.toSet

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

  /** The files of the snapshot of a table that may hold a row which is needed.
    *
    * In the mode `observe` all of them are read and shown. The size of the table, which every scan
    * shows, has to be known without opening all manifests.
    *
    * @param columns
    *   of the relation
    * @param conjuncts
    *   predicates over these columns that are true of every row that is needed
    * @param among
    *   locations of the manifests of all files that may be read; None: those of any
    * @return
    *   Left: why they cannot be read
    * @throws io.tamis.bridge.PlannerUnavailable
    *   the sidecar does not answer
    */
  def of(
      session: SparkSession,
      table: IcebergTable,
      columns: Seq[Attribute],
      conjuncts: Seq[Expression],
      among: Option[Set[String]]
  ): Either[String, IcebergFiles] = {
    val key = (session.sparkContext.applicationId, table.location, table.snapshot)
    val mayLeaveOut = TamisConf.mode(SQLConf.get) == Mode.Apply && table.size.isDefined
    known.getOrElse(key) { parts =>
      val needed = documents(columns, if (mayLeaveOut) conjuncts else Nil)
      read(session, table, needed, among.filter(_ => mayLeaveOut), parts)
    }
  }

  /** The conjuncts, with the columns spelled as in the table. */
  private def documents(columns: Seq[Attribute], conjuncts: Seq[Expression]): ArrayNode = {
    val own = columns.map(a => a.exprId -> a).toMap
    val spelled = conjuncts.map(_.transform { case a: AttributeReference =>
      own.getOrElse(a.exprId, a)
    })
    val schema = StructType(columns.map(a => StructField(a.name, a.dataType, a.nullable)))
    Question.writer(schema).writeAll(spelled)
  }

  private def read(
      session: SparkSession,
      table: IcebergTable,
      conjuncts: ArrayNode,
      among: Option[Set[String]],
      parts: Seq[IcebergFiles]
  ): KnownSnapshots.Outcome = {
    val conf = SQLConf.get
    val directory = SidecarSupervisor.privateDirectory
    val request = IcebergFilesRequest(
      directory.toString,
      table.snapshot,
      conjuncts,
      among,
      parts.flatMap(_.listed),
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
      tell(table, answer)
      KnownSnapshots.Outcome(
        answer.problem.toLeft(
          answer.known.fold(of(session, table, answer, rowsOf(file)))(parts(_))
        ),
        if (answer.isPending) KnownSnapshots.AtOnce
        else if (answer.mayPass) KnownSnapshots.Soon
        else KnownSnapshots.Late
      )
    } finally Files.deleteIfExists(file)
  }

  /** Warns once if the storage fails, and again if it fails after it has worked. */
  private def tell(table: IcebergTable, answer: IcebergFilesAnswer): Unit = {
    val key = s"iceberg:${table.location}:"
    answer.problem match {
      case Some(why) if answer.mayPass =>
        Warnings.once(
          key,
          s"the manifests of ${table.name} cannot be read ($why). Iceberg plans its queries until " +
            "they can. tamis tries again after a second, and then at longer intervals, up to a minute"
        )
      case None => Warnings.resolved(key)
      case _    =>
    }
  }

  private def of(
      session: SparkSession,
      table: IcebergTable,
      answer: IcebergFilesAnswer,
      rows: IndexedSeq[Row]
  ): IcebergFiles = {
    val uris = rows.map(_.uri).toArray
    val listed = Listing.recorded(uris, rows.map(_.size).toArray, IndexedFiles.Unchanging)
    val snapshot = table.snapshot.copy(manifests = answer.listed)
    val index = new RecordedFileIndex(
      session,
      Seq(table.location),
      answer.listed.fold(listed)(_ => listed.partOf(Some(sizeOf(table, listed, answer)))),
      snapshot,
      answer.listed.map(_ => () => whole(session, table))
    )
    new IcebergFiles(
      index,
      rows.map(_.location).toArray,
      answer.manifests,
      rows.map(_.manifest).toArray,
      answer.listed
    )
  }

  /** The size of the table, if only some of its files are listed. The bytes are those that the
    * writer of the snapshot counted, with delete files.
    */
  private def sizeOf(
      table: IcebergTable,
      listed: Listing,
      answer: IcebergFilesAnswer
  ): TableSize = {
    val files = answer.tableFiles.filter(_ > listed.size)
    TableSize(
      files.getOrElse(throw new IllegalStateException("the files of the table are not counted")),
      table.size.fold(listed.totalBytes)(_.bytes.max(listed.totalBytes)),
      answer.tableRecords
    )
  }

  private def whole(session: SparkSession, table: IcebergTable): Option[RecordedFileIndex] =
    Try(of(session, table, Nil, Nil, None)).toOption.flatMap(_.toOption).map(_.index)

  private final case class Row(location: String, uri: String, size: Long, manifest: Int)

  private def rowsOf(file: java.nio.file.Path): IndexedSeq[Row] = ArrowFile
    .read(file) { row =>
      val location = row.getUTF8String(0).toString
      val uri = if (row.isNullAt(1)) location else row.getUTF8String(1).toString
      Row(location, uri, row.getLong(2), row.getInt(3))
    }
    .rows
}
