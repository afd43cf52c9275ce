package io.tamis.source

import java.nio.file.Files
import java.util.UUID

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory}
import io.tamis.bridge.{PlannerClient, PlannerUnavailable, SidecarSupervisor, Warnings}
import io.tamis.conf.TamisConf
import io.tamis.wire._
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.internal.SQLConf

/** One question to the planner: which files of this listing can hold a row that passes these
  * filters?
  *
  * @param detail
  *   also count what each filter prunes on its own; takes longer, and is not remembered
  * @param among
  *   only these files are in question; None: all of the listing
  * @param goal
  *   what else to find out about the files that the filters keep
  * @param wholeFiles
  *   row groups are not in question
  */
final class Question(
    table: PlannedFiles,
    listing: Listing,
    filters: Seq[Expression],
    detail: Boolean = false,
    among: Option[Kept] = None,
    goal: Option[Goal] = None,
    wholeFiles: Boolean = false
) {
  private val conf = SQLConf.get
  private val roots =
    table.relation.location.rootPaths.map(p => Listing.canonical(p.toUri.toString))

  /** The answer, or why there is none. Never throws. */
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

  /** What statistics say of each file of the listing, in its order; or why nobody knows. Never
    * throws.
    */
  def evidence(): Either[Reason, Seq[Evidence]] = guarded {
    val asked = request(write())
    val file = Evidence.file(asked.id)
    try {
      PlannerClient.evidence(asked, conf)
      Evidence.read(file, listing.size)
    } finally Files.deleteIfExists(file)
  }

  private def guarded[A](act: => A): Either[Reason, A] =
    try Right(act)
    catch {
      case e: PlannerUnavailable => Left(failed(e))
      // a LinkageError: a Spark whose internals are not those that the jar was built for
      case e @ (NonFatal(_) | _: LinkageError) =>
        Warnings.once(
          s"planner:${e.getClass.getName}",
          s"planning failed (${e.getMessage}). This query runs as plain Spark, without pruning.",
          e
        )
        Left(failed(e))
    }

  private def failed(e: Throwable): Reason =
    Reasons("PLANNER_FAILED", "error" -> String.valueOf(e.getMessage))

  private def write(): ArrayNode = {
    val writer = Question.writer(table)
    val documents = JsonNodeFactory.instance.arrayNode()
    filters.foreach(f => documents.add(writer.write(f)))
    documents
  }

  /** The question as it travels, with what it speaks of in place. May throw. */
  def document(): String = request(write()).toJson

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

  // who asks for more than files does not read any yet
  private val rowGroups = goal.isEmpty && !wholeFiles && TamisConf.rowGroupsEnabled(conf)
  // None of Parquet
  private lazy val reading = ReadFingerprint.of(table.relation)
  private val within = among.filterNot(_.isAll).map(_.ordinals)

  private lazy val index = IndexSettings(
    TamisConf.indexEnabled(conf),
    TamisConf.indexLocation(conf),
    TamisConf.cacheDirectory(conf),
    AnswerMemo.epoch
  )
}

object Question {

  /** Writes expressions over the columns of a table, so that each path names one column, whose
    * statistics are of the values that Spark reads.
    */
  def writer(table: PlannedFiles): ExpressionWriter = {
    val shifted =
      // then Spark moves INT96 timestamps of other writers by the session's time zone
      if (SQLConf.get.isParquetINT96TimestampConversion)
        ExpressionWriter.timestampPaths(table.schema)
      else Set.empty[String]
    new ExpressionWriter(ExpressionWriter.ambiguousPaths(table.schema) ++ shifted)
  }
}
