package io.tamis.planning

import io.tamis.bridge.{AnyFailure, PlannerClient, PlannerUnavailable, SidecarSupervisor, Warnings}
import io.tamis.conf.TamisConf
import io.tamis.listing.{FileOptions, Listing, ReadFingerprint, Snapshots}
import io.tamis.wire.{
  ExpressionWriter,
  Goal,
  IndexSettings,
  PlanAnswer,
  PlanRequest,
  Reason,
  Reasons
}
import java.nio.file.Files
import java.util.UUID

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.internal.SQLConf

/** One question to the planner: which files of this listing can hold a row that satisfies these
  * filters?
  *
  * @param detail
  *   also count what each filter prunes on its own; takes longer, and the answer is not remembered
  * @param among
  *   consider only these files; None: all files of the listing
  * @param goal
  *   an additional question about the files that the filters keep
  * @param wholeFiles
  *   do not consider row groups
  */
final class Question(
    table: PlannedFiles,
    listing: Listing,
    filters: Seq[Expression],
    detail: Boolean = false,
    among: Option[FileSelection] = None,
    goal: Option[Goal] = None,
    wholeFiles: Boolean = false
) {
  private val conf = SQLConf.get
  private val roots =
    table.relation.location.rootPaths.map(p => Listing.canonical(p.toUri.toString))

  /** Returns the answer, or why there is none. Never throws. */
  def ask(): Either[Reason, PlanAnswer] =
    guarded {
      val documents = write()
      val key = AnswerMemo.Key(
        listing.fingerprint,
        roots,
        documents.toString,
        index,
        conf.caseSensitiveAnalysis,
        rowGroups,
        TamisConf.declarations(conf),
        within,
        goal,
        reading
      )
      val remembered = AnswerMemo.get(key).filterNot(_ => detail).map(_.copy(spent = None))
      val answer = remembered.getOrElse {
        val answered = send(documents)
        if (!detail) AnswerMemo.put(key, answered)
        answered
      }
      answer
    }

  /** Returns what statistics prove about each file of the listing, in its order, or why that is not
    * known. Never throws.
    */
  def evidence(): Either[Reason, Seq[Evidence]] = guarded {
    val message = request(write())
    val file = Evidence.file(message.id)
    try {
      PlannerClient.evidence(message, conf)
      Evidence.read(file, listing.size)
    } finally Files.deleteIfExists(file)
  }

  private def guarded[A](act: => A): Either[Reason, A] =
    try Right(act)
    catch {
      case e: PlannerUnavailable => Left(failed(e))
      case AnyFailure(e)         =>
        Warnings.once(
          s"planner:${e.getClass.getName}",
          s"planning failed (${e.getMessage}). This query runs as plain Spark, without pruning.",
          e
        )
        Left(failed(e))
    }

  private def failed(e: Throwable): Reason =
    Reasons("PLANNER_FAILED", "error" -> String.valueOf(e.getMessage))

  private def write(): ArrayNode = Question.writer(table).writeAll(filters)

  /** The question as it is sent, after writing the snapshot that it refers to. May throw. */
  def document(): ObjectNode = request(write()).document

  private def send(documents: ArrayNode): PlanAnswer = {
    val answer = PlannerClient.plan(request(documents), conf)
    answer.warnings.foreach { case (code, text) => Warnings.once(s"planner:$code:$text", text) }
    answer
  }

  private def request(documents: ArrayNode): PlanRequest = {
    val directory = SidecarSupervisor.privateDirectory
    Snapshots.ensure(listing, directory)
    PlanRequest(
      UUID.randomUUID().toString,
      listing.fingerprint,
      directory.toString,
      listing.size,
      table.name(),
      roots,
      table.relation.partitionSchema,
      conf.caseSensitiveAnalysis,
      index,
      new FileOptions(table).storage,
      documents,
      detail,
      rowGroups,
      TamisConf.declarations(conf),
      within,
      goal,
      reading
    )
  }

  // callers that set a goal do not read any files yet
  private val rowGroups = goal.isEmpty && !wholeFiles && TamisConf.rowGroupsEnabled(conf)
  // None for Parquet
  private lazy val reading = ReadFingerprint.of(table.relation)
  private val within = among.filterNot(_.isAll).map(_.ordinals)

  private lazy val index = IndexSettings(
    TamisConf.indexEnabled(conf),
    TamisConf.indexLocation(conf),
    TamisConf.cacheLocation(conf),
    AnswerMemo.epoch
  )
}

object Question {

  /** A writer for expressions over the columns of a table. Each path that it writes names one
    * column, and the statistics of that column are of the values that Spark reads.
    */
  def writer(table: PlannedFiles): ExpressionWriter = {
    val shifted =
      // Spark then shifts INT96 timestamps of other writers by the session's time zone
      if (SQLConf.get.isParquetINT96TimestampConversion)
        ExpressionWriter.timestampPaths(table.schema)
      else Set.empty[String]
    new ExpressionWriter(ExpressionWriter.ambiguousPaths(table.schema) ++ shifted)
  }
}
