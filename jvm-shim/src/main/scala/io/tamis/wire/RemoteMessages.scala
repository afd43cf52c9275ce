package io.tamis.wire

import java.util.Base64

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ArrayNode

/** Asks how a remote source applies filters, and what its server knows (tamis.wire.remote).
  *
  * @param options
  *   those of the data source. They may contain a token, so messages never contain them.
  * @param columns
  *   the columns whose statistics are requested, beside those of the filters
  * @param seconds
  *   the time after which the answer is no longer of use
  * @param storage
  *   the Hadoop settings `fs.*` of the session. They may contain keys, so messages never contain
  *   them.
  */
final case class RemoteQuestion(
    format: String,
    options: Map[String, String],
    seconds: Double,
    conjuncts: ArrayNode,
    columns: Seq[String],
    storage: Map[String, String]
) extends Request[RemoteAnswer] {
  override def read(answer: String): RemoteAnswer = RemoteAnswer.read(answer, this)
  override def toString: String = s"RemoteQuestion($format)"
}

/** How a remote source applies a filter. */
sealed abstract class Applied(val name: String) extends Named

object Applied {

  /** Every row that it returns passes, so Spark need not apply the filter. */
  case object Exactly extends Applied("exactly")

  /** It may leave out rows that do not pass. */
  case object Partly extends Applied("partly")

  /** The filter is not sent. */
  case object Ignored extends Applied("ignored")

  /** A name that is not known promises nothing. */
  def of(name: String): Applied = if (name == Exactly.name) Exactly
  else if (name == Partly.name) Partly
  else Ignored
}

/** Statistics of a column of a remote table; the bounds are constants of expression documents. */
final case class RemoteColumn(minimum: JsonNode, maximum: JsonNode, distinct: Option[Long])

/** What is known of a remote source.
  *
  * @param label
  *   the table and the server, for messages
  * @param isEmpty
  *   statistics prove that no row passes all filters
  * @param files
  *   the Parquet files that hold the rows, if Spark reads them itself
  * @param problem
  *   why the source could not be asked
  */
final case class RemoteAnswer(
    label: String,
    applied: Seq[Applied],
    isEmpty: Boolean,
    files: Option[Seq[String]],
    rows: Option[Long],
    columns: Map[String, RemoteColumn],
    problem: Option[String]
)

object RemoteAnswer {

  /** Nothing is known: every filter is sent, and Spark applies all of them. */
  def unknown(label: String, filters: Int): RemoteAnswer =
    RemoteAnswer(label, Seq.fill(filters)(Applied.Partly), false, None, None, Map.empty, None)

  /** Reads an answer, and throws PlannerFailure unless it belongs to this question. */
  def read(text: String, question: RemoteQuestion): RemoteAnswer = {
    val root = Messages.document(text, question.id)
    val problem = Option(root.get("problem")).filter(_.isTextual).map(_.asText)
    val applied = root.path("applied").elements.asScala.map(each => Applied.of(each.asText)).toSeq
    val expected = question.conjuncts.size
    if (problem.isDefined) unknown(question.format, expected).copy(problem = problem)
    else if (applied.size != expected)
      PlannerFailure.garbage(s"${applied.size} filters in the answer, $expected in the question")
    else
      RemoteAnswer(
        root.path("label").asText(question.format),
        applied,
        root.path("is_empty").asBoolean(false),
        Option(root.get("files")).filter(_.isArray).map(_.elements.asScala.map(_.asText).toSeq),
        long(root.path("rows")),
        root.path("columns").properties.asScala.map(e => e.getKey -> column(e.getValue)).toMap,
        None
      )
  }

  private def column(node: JsonNode): RemoteColumn =
    RemoteColumn(node.path("minimum"), node.path("maximum"), long(node.path("distinct")))

  private def long(node: JsonNode): Option[Long] =
    Option.when(node.isIntegralNumber && node.canConvertToLong)(node.asLong)
}

/** Asks for the tasks of a scan (tamis.wire.remote).
  *
  * @param options
  *   those of the data source and of the query. They may contain a token, so they are in no text.
  * @param columns
  *   the columns to read, as the JSON form of a StructType
  * @param seconds
  *   the time after which the answer is no longer of use
  */
final case class RemoteTasksQuestion(
    format: String,
    options: Map[String, String],
    columns: String,
    seconds: Option[Double] = None
) extends Request[RemoteTasks] {
  override def read(answer: String): RemoteTasks = RemoteTasks.read(answer, this)
  override def toString: String = s"RemoteTasksQuestion($format)"
}

/** The tasks of a scan.
  *
  * @param program
  *   the text of the program that reads tasks
  * @param reader
  *   what converts the rows, pickled
  * @param tasks
  *   what reads the rows, pickled
  * @param problem
  *   why the table cannot be read
  * @param isLate
  *   there was no answer in time
  */
final case class RemoteTasks(
    program: String,
    reader: Array[Byte],
    tasks: Seq[Array[Byte]],
    problem: Option[String],
    isLate: Boolean
)

object RemoteTasks {

  /** Reads an answer, and throws PlannerFailure unless it belongs to this question. */
  def read(text: String, question: RemoteTasksQuestion): RemoteTasks = {
    val root = Messages.document(text, question.id)
    val problem = Option(root.get("problem")).filter(_.isTextual).map(_.asText)
    val isLate = root.path("is_late").asBoolean(false)
    def bytes(node: JsonNode): Array[Byte] =
      try Base64.getDecoder.decode(node.asText)
      catch {
        case e: IllegalArgumentException =>
          PlannerFailure.garbage(s"the answer is not base64: ${e.getMessage}")
      }
    if (problem.isEmpty && !isLate && !(root.has("reader") && root.path("tasks").isArray))
      PlannerFailure.garbage("the answer has no tasks")
    RemoteTasks(
      root.path("program").asText,
      bytes(root.path("reader")),
      root.path("tasks").elements.asScala.map(bytes).toSeq,
      problem,
      isLate
    )
  }
}
