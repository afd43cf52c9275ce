package io.tamis.wire

import java.nio.{ByteBuffer, ByteOrder}
import java.util.{Base64, BitSet}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{ArrayNode, MissingNode, ObjectNode}
import org.apache.spark.sql.types.StructType

/** The files of a scan, how Spark reads them, and the filters, as the Python package reads them
  * (tamis.wire.scans).
  */
final case class ScanRequest(
    snapshot: SnapshotOfFiles,
    table: TableOfFiles,
    index: IndexSettings,
    storage: Map[String, String],
    cacheDirectory: Option[String],
    conjuncts: ArrayNode,
    declarations: Seq[String] = Nil,
    among: Option[ObjectNode] = None,
    reading: Option[String] = None,
    delta: Option[DeltaSnapshot] = None,
    iceberg: Option[IcebergSnapshot] = None,
    remembered: Option[RememberedKeys] = None
)

/** The listing, which lies in this directory, with this number of files. */
final case class SnapshotOfFiles(fingerprint: String, directory: String, files: Int)

final case class TableOfFiles(
    name: String,
    caseSensitive: Boolean,
    roots: Seq[String],
    partitionColumns: Seq[PartitionColumn]
)

final case class PartitionColumn(name: String, `type`: String)

/** A question to the planner, as the Python package reads it (tamis.wire.messages). */
final case class PlanRequest(
    scan: ScanRequest,
    detail: Boolean = false,
    rowGroups: Boolean = false,
    goal: Option[Goal] = None,
    mostValues: Int = 0,
    outcomes: Seq[ValueOutcomes] = Nil
) extends Request[PlanAnswer] {
  override private[wire] def fields: Seq[(String, Any)] = Json.fields(scan) ++ Seq(
    "detail" -> detail,
    "row_groups" -> rowGroups,
    "goal" -> goal.map(_.document),
    "most_values" -> mostValues,
    "outcomes" -> outcomes
  )
  override def read(answer: String): PlanAnswer = Messages.readAnswer(answer, this)

  /** The scans that the answer depends on. */
  def scans: Seq[ScanRequest] = scan +: goal.toSeq.flatMap(_.scans)
}

/** Several questions in one message. An answer is None if there is none to its question. */
final case class PlanRequests(questions: Seq[PlanRequest])
    extends Request[Seq[Option[PlanAnswer]]] {
  override private[wire] def fields: Seq[(String, Any)] =
    Seq("questions" -> questions.map(_.document))
  override def read(answer: String): Seq[Option[PlanAnswer]] = Messages.readAnswers(answer, this)
}

/** What a predicate is for each value of a file that the answer to an earlier request named
  * (tamis.wire.messages.ValueOutcomes).
  */
final case class ValueOutcomes(request: String, place: Int, key: String, codes: String)

/** Values that the planner would like to have evaluated. */
final case class WantedValues(key: String, rows: Int)

/** Requests what statistics prove about each file of a scan, as `<id>.evidence.arrow`. */
final case class EvidenceRequest(plan: PlanRequest) extends FileRequest {
  override private[wire] def fields: Seq[(String, Any)] = plan.fields
}

/** How to use an index.
  *
  * @param patienceMs
  *   the most milliseconds for which planning waits for its storage
  */
final case class IndexSettings(
    enabled: Boolean,
    location: Option[String],
    epoch: Long,
    patienceMs: Long,
    automatic: Option[AutomaticIndex] = None
)

/** That files without an index shall be indexed.
  *
  * @param schema
  *   the columns in the files of the table
  * @param maxFiles
  *   the most files that are indexed for one table
  * @param patienceMs
  *   the most milliseconds for which planning waits until they are
  */
final case class AutomaticIndex(schema: StructType, maxFiles: Int, patienceMs: Long)

/** Files that a query has written, to be indexed automatically.
  *
  * @param root
  *   the directory of the table, a URL-encoded URI
  * @param schema
  *   the columns in the files
  * @param files
  *   directory, name (both URL-encoded), size in bytes, and modification time in milliseconds
  */
final case class WrittenFilesRequest(
    root: String,
    schema: StructType,
    caseSensitive: Boolean,
    files: Seq[(String, String, Long, Long)],
    storage: Map[String, String],
    cacheDirectory: Option[String]
) extends Request[Unit] {
  override private[wire] def fields: Seq[(String, Any)] = {
    val directories = files.map(_._1).distinct
    val group = directories.zipWithIndex.toMap
    Seq(
      "root" -> root,
      "schema" -> schema,
      "case_sensitive" -> caseSensitive,
      "directories" -> directories,
      "group" -> files.map(file => group(file._1)),
      "name" -> files.map(_._2),
      "size" -> files.map(_._3),
      "mtime" -> files.map(_._4),
      "storage" -> storage,
      "cache_directory" -> cacheDirectory
    )
  }
  override def read(answer: String): Unit = Messages.acknowledged(answer, id)
}

/** Requests that the indexes of a table are opened, which takes a while if files are many. */
final case class OpenIndexesRequest(
    table: TableOfFiles,
    index: IndexSettings,
    storage: Map[String, String],
    cacheDirectory: Option[String]
) extends Request[Unit] {
  override def read(answer: String): Unit = Messages.acknowledged(answer, id)
}

/** Asks how many files wait for the automatic index with this root and location. */
final case class WaitingFilesRequest(root: String, location: String) extends Request[Int] {
  override def read(answer: String): Int = Messages.document(answer, id).path("files").asInt
}

/** What was ruled out, over all files; bytes and rows are None if they are not known for each of
  * them.
  */
final case class Share(files: Long, bytes: Option[Long], rows: Option[Long])

/** The outcome of one conjunct.
  *
  * @param pruned
  *   what the conjunct rules out on its own; only with `detail`
  * @param added
  *   what the conjuncts up to this one rule out together, beyond those before it; only with
  *   `detail`
  * @param prunedBy
  *   the kinds of statistics that rule it out
  */
final case class Outcome(
    pushdown: Pushdown,
    reason: Option[Reason],
    prunedFiles: Option[Long],
    pruned: Option[Share] = None,
    added: Option[Share] = None,
    prunedBy: Seq[String] = Nil,
    isRemembered: Boolean = false
)

/** Where the planner's time went, in milliseconds. */
final case class Spent(inAll: Double, opening: Double)

/** The bytes to read from kept files that are not read whole. One entry per row group, ordered by
  * file and start; entries that touch have no other row group between them.
  *
  * @param kept
  *   row groups that are read, of `total`; None if not known for every file
  * @param remembered
  *   how many row groups are not read only because an earlier query found no row in them that
  *   passes
  */
final case class RowGroups(
    files: Array[Int],
    starts: Array[Long],
    lengths: Array[Long],
    kept: Option[Long],
    total: Option[Long],
    remembered: Long = 0
)

/** A decision of the planner over the files of one listing.
  *
  * @param rowGroups
  *   None: every kept file is read whole. Exact outcomes hold only for what is read.
  * @param rememberedFiles
  *   how many files are not kept only because an earlier query found no row in them that passes
  */
final case class PlanAnswer(
    kept: BitSet,
    rowGroups: Option[RowGroups],
    keptRecords: Option[Long],
    totalRecords: Option[Long],
    outcomes: Seq[Outcome],
    warnings: Seq[(String, String)],
    rememberedFiles: Long = 0,
    wanted: Seq[WantedValues] = Nil,
    // read by ImpliedReader, where the columns are known
    implied: JsonNode = MissingNode.getInstance,
    goal: JsonNode = MissingNode.getInstance, // read by GoalReader, in the rule that set the goal
    spent: Option[Spent] = None // None: remembered from an earlier question
)

/** Which ranges of columns follow from these conjuncts? Does not need a table. */
final case class ImpliedRequest(conjuncts: ArrayNode) extends Request[JsonNode] {

  /** The ranges, as ImpliedReader reads them. */
  override def read(answer: String): JsonNode =
    Messages.required(Messages.document(answer, id), "implied")
}

/** Requests the history, as `<id>.history.arrow` in this directory.
  *
  * @param location
  *   None: the history of the user
  */
final case class HistoryRequest(directory: String, location: Option[String]) extends FileRequest

/** The planner reported an error instead of an answer, or its answer is not valid. */
final class PlannerFailure(val code: String, message: String) extends RuntimeException(message)

object PlannerFailure {

  /** Rejects an answer that is not a valid one. */
  private[wire] def garbage(problem: String): Nothing =
    throw new PlannerFailure("garbage_answer", problem)

  /** The code of errors that tamis raises on purpose. Their texts say what to do. */
  val Refused = "refused"
}

object Messages {
  import PlannerFailure.garbage

  /** Version of the wire protocol that this jar speaks; must equal tamis.wire.messages.VERSION. */
  val Version = 1

  private[tamis] val mapper = new ObjectMapper()

  /** Reads an answer, and throws PlannerFailure unless it belongs to this question. */
  def readAnswer(text: String, request: PlanRequest): PlanAnswer =
    answerIn(document(text, request.id), request)

  /** Reads the answers to several questions. */
  private[wire] def readAnswers(text: String, request: PlanRequests): Seq[Option[PlanAnswer]] = {
    val answers = required(document(text, request.id), "answers").elements.asScala.toSeq
    if (answers.size != request.questions.size)
      garbage(s"${answers.size} answers to ${request.questions.size} questions")
    answers.zip(request.questions).map { case (answer, question) =>
      try Some(answerIn(checked(answer, question.id), question))
      catch { case _: PlannerFailure => None }
    }
  }

  private def answerIn(root: JsonNode, request: PlanRequest): PlanAnswer = {
    expect(root, "fingerprint", request.scan.snapshot.fingerprint)
    expect(root, "files", request.scan.snapshot.files.toString)
    val outcomes = required(root, "conjuncts").elements.asScala.map(outcome).toSeq
    if (outcomes.size != request.scan.conjuncts.size)
      garbage(
        s"${outcomes.size} conjuncts in the answer, ${request.scan.conjuncts.size} in the question"
      )
    val warnings = Option(root.get("warnings")).toSeq
      .flatMap(_.elements.asScala)
      .map(w => w.path("code").asText("warning") -> w.path("text").asText(""))
    val bits = kept(required(root, "kept"), request.scan.snapshot.files)
    val groups = Option(root.get("row_groups")).filterNot(_.isNull).map(rowGroups(_, bits))
    if (groups.isDefined && !request.rowGroups)
      fail("wrong_answer", "the question did not ask for row groups")
    PlanAnswer(
      bits,
      groups,
      long(root, "kept_records"),
      long(root, "total_records"),
      outcomes,
      warnings,
      root.path("remembered_files").asLong(0),
      root
        .path("wanted")
        .elements
        .asScala
        .map(w => WantedValues(w.path("key").asText, w.path("rows").asInt))
        .toSeq,
      root.path("implied"),
      root.path("goal"),
      Some(
        Spent(root.path("milliseconds").asDouble(0), root.path("opening_milliseconds").asDouble(0))
      )
    )
  }

  /** Reads an answer that says nothing but that the request was understood. */
  private[wire] def acknowledged(text: String, id: String): Unit = document(text, id): Unit

  /** Notes that come with a file that the sidecar has written. */
  private[wire] def notes(text: String, id: String): Seq[String] =
    document(text, id).path("notes").elements.asScala.map(_.asText).toSeq

  /** An answer of this version to the question with this id. */
  private[wire] def document(text: String, id: String): JsonNode = {
    val root =
      try mapper.readTree(text)
      catch {
        case e: Exception =>
          garbage(s"the answer is not JSON: ${e.getMessage}")
      }
    checked(root, id)
  }

  private def checked(root: JsonNode, id: String): JsonNode = {
    if (root == null || !root.isObject) garbage("the answer is not a JSON object")
    if (root.has("error"))
      fail(root.at("/error/code").asText("error"), root.at("/error/text").asText("no text"))
    expect(root, "version", Version.toString)
    expect(root, "id", id)
    root
  }

  /** A set of files in the form that `kept` reads. */
  private[tamis] def keptDocument(bits: BitSet, files: Int): ObjectNode = {
    val bytes = java.util.Arrays.copyOf(bits.toByteArray, (files + 7) / 8)
    Json.obj("form" -> "bitmap", "data" -> Base64.getEncoder.encodeToString(bytes))
  }

  private[wire] def kept(node: JsonNode, files: Int): BitSet = {
    val bits = new BitSet(files)
    node.path("form").asText match {
      case "all"    => bits.set(0, files)
      case "none"   =>
      case "ranges" =>
        required(node, "data").elements.asScala.foreach { r =>
          val (start, stop) = (r.get(0).asInt(-1), r.get(1).asInt(-1))
          if (start < 0 || stop < start || stop > files)
            garbage(s"the range $start to $stop is not valid for $files files")
          bits.set(start, stop)
        }
      case "bitmap" =>
        val bytes = Base64.getDecoder.decode(required(node, "data").asText)
        if (bytes.length != (files + 7) / 8)
          garbage(s"a bitmap of ${bytes.length} bytes for $files files")
        bits.or(BitSet.valueOf(bytes))
        if (bits.length > files)
          garbage(s"a bitmap that keeps file ${bits.length - 1} of $files")
      case other => garbage(s"kept files have the unknown form '$other'")
    }
    bits
  }

  private def rowGroups(node: JsonNode, kept: BitSet): RowGroups = {
    def packed(field: String) = ByteBuffer
      .wrap(Base64.getDecoder.decode(required(node, field).asText))
      .order(ByteOrder.LITTLE_ENDIAN)
    def longs(field: String) = {
      val in = packed(field).asLongBuffer
      val out = new Array[Long](in.remaining)
      in.get(out)
      out
    }
    val in = packed("files").asIntBuffer
    val files = new Array[Int](in.remaining)
    in.get(files)
    val (starts, lengths) = (longs("starts"), longs("lengths"))
    if (files.length != starts.length || files.length != lengths.length)
      garbage("the row groups have different numbers of files, starts and lengths")
    files.indices.foreach { i =>
      val after =
        if (i == 0 || files(i - 1) < files(i)) 0L
        else if (files(i - 1) == files(i)) starts(i - 1) + lengths(i - 1)
        else Long.MaxValue
      if (files(i) < 0 || !kept.get(files(i)) || starts(i) < after || lengths(i) <= 0)
        garbage(s"bytes ${starts(i)} + ${lengths(i)} of file ${files(i)}: invalid")
    }
    RowGroups(
      files,
      starts,
      lengths,
      long(node, "kept"),
      long(node, "total"),
      node.path("remembered").asLong(0)
    )
  }

  private def outcome(node: JsonNode): Outcome = Outcome(
    Pushdown.of(node.path("pushdown").asText),
    reason(node.path("reason")),
    long(node, "pruned_files"),
    share(node.path("pruned")),
    share(node.path("added")),
    node.path("pruned_by").elements.asScala.map(_.asText).toSeq,
    node.path("remembered").asBoolean
  )

  private def share(node: JsonNode): Option[Share] =
    long(node, "files").map(files => Share(files, long(node, "bytes"), long(node, "rows")))

  private[wire] def reason(node: JsonNode): Option[Reason] =
    Option(node)
      .filter(_.isObject)
      .map(r =>
        Reason(
          r.path("code").asText,
          r.path("text").asText,
          Option(r.get("fix")).filterNot(_.isNull).map(_.asText)
        )
      )

  private def long(node: JsonNode, field: String): Option[Long] =
    Option(node.get(field)).filter(_.isIntegralNumber).map(_.asLong)

  private[wire] def required(node: JsonNode, field: String): JsonNode =
    Option(node.get(field)).getOrElse(garbage(s"the answer has no '$field'"))

  private def expect(root: JsonNode, field: String, value: String): Unit = {
    val actual = root.path(field).asText
    if (actual != value)
      fail("wrong_answer", s"the answer has $field '$actual', the question had '$value'")
  }

  private def fail(code: String, text: String): Nothing = throw new PlannerFailure(code, text)
}
