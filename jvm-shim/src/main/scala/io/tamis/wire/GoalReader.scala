package io.tamis.wire

import io.tamis.runtime.HllRegisters
import java.util.BitSet

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  GreaterThanOrEqual,
  IsNull,
  LessThanOrEqual,
  Or
}
import org.apache.spark.sql.types.{BinaryType, DataType}

/** Aggregates answered by statistics.
  *
  * @param files
  *   the files that must be read for the rest
  * @param covered
  *   how many files statistics answer for
  * @param skipped
  *   how many other files cannot change the result
  * @param groups
  *   a group that is absent has no row in the covered files
  * @param sample
  *   some of `files`, to be read first
  */
final case class AnsweredAggregates(
    files: BitSet,
    covered: Int,
    skipped: Int,
    groups: Seq[AnsweredGroup],
    sample: Option[BitSet] = None
) {

  /** The source of the answer, for people. */
  def text: String =
    (Seq(s"$covered files answered from statistics") ++
      Option.when(skipped > 0)(s"$skipped cannot change the result") ++
      sample.map(files => s"a sample of ${files.cardinality} is read first")).mkString(", ")

  /** Whether statistics decide about some file. */
  def isPartial: Boolean = covered + skipped > 0
}

/** The aggregates of one group. null is NULL.
  *
  * @param number
  *   of its partition columns
  * @param by
  *   one value per column of the question
  * @param values
  *   one value per aggregate
  */
final case class AnsweredGroup(number: Int, by: Seq[Any], values: Seq[Any])

/** What an index knows of a column, over all files. None: unknown.
  *
  * @param bounds
  *   the least and the greatest value that is neither NULL nor NaN, in Catalyst's representation
  * @param nulls
  *   rows with NULL
  * @param distinct
  *   the estimated number of values other than NULL
  * @param averageLength
  *   of strings, in characters, and of binary, in bytes
  */
final case class ColumnFacts(
    bounds: Option[(Any, Any)] = None,
    nulls: Option[Long] = None,
    distinct: Option[Long] = None,
    averageLength: Option[Long] = None,
    longest: Option[Long] = None
)

/** What indexes know of all files of a listing.
  *
  * @param countsDistinct
  *   whether the number of distinct values was recorded of some column
  * @param columns
  *   one per column of the question
  */
final case class TableFacts(rows: Long, countsDistinct: Boolean, columns: Seq[ColumnFacts])

/** Reads the planner's answer to a [[Goal]]: the result, or the reason why there is none. */
object GoalReader {
  import PlannerFailure.garbage

  /** The files that serve the goal, among those that the filter keeps. */
  def files(answer: PlanAnswer, count: Int): Either[Reason, BitSet] =
    found(answer, "files").map(node => Messages.kept(node.path("files"), count))

  /** The answer to a [[TopKGoal]].
    *
    * @param key
    *   the key of a [[TopKGoal]], over the attributes of the relation
    */
  def first(
      answer: PlanAnswer,
      count: Int,
      key: Expression,
      goal: TopKGoal
  ): Either[Reason, FirstFiles] =
    found(answer, "files", "sampled").map { node =>
      val until = ImpliedReader.constant(node.path("until"), key.dataType).map { last =>
        val within =
          if (goal.descending) GreaterThanOrEqual(key, last) else LessThanOrEqual(key, last)
        if (goal.nullsFirst) Or(IsNull(key), within) else within
      }
      val samples = node.path("samples").elements.asScala.map(Messages.kept(_, count)).toSeq
      FirstFiles(Messages.kept(node.path("files"), count), until, samples)
    }

  /** One flag per key of the question. */
  def flags(answer: PlanAnswer, count: Int): Seq[Boolean] = found(answer, "clustered") match {
    case Right(node) =>
      val received = node.path("flags").elements.asScala.map(_.asBoolean(false)).toSeq
      if (received.size == count) received else Seq.fill(count)(false)
    case Left(_) => Seq.fill(count)(false)
  }

  /** The answer to an [[OrderGoal]]: the files, and the number by which a task sorts each of them.
    */
  def ordered(answer: PlanAnswer, count: Int): Either[Reason, (BitSet, Map[Int, Int])] =
    found(answer, "ordered").map { node =>
      val files = Messages.kept(node.path("files"), count)
      val places = node.path("places").elements.asScala.map(_.intValue).toSeq
      if (places.nonEmpty && places.size != files.cardinality)
        garbage(s"${places.size} places of ${files.cardinality} files")
      files -> files.stream.toArray.toSeq.zip(places).toMap
    }

  /** The answer to an [[AggregateGoal]].
    *
    * @param functions
    *   kinds and types of the aggregates of the question
    * @param columns
    *   types of its columns
    * @return
    *   None: only recorded aggregates could answer it, and there are none
    */
  def aggregates(
      answer: PlanAnswer,
      count: Int,
      functions: Seq[(AggregateGoal.Kind, DataType)],
      columns: Seq[DataType]
  ): Option[Either[Reason, AnsweredAggregates]] = Option.when(hasGoal(answer)) {
    found(answer, "aggregate").map { node =>
      val groups = node
        .path("groups")
        .elements
        .asScala
        .map { group =>
          def read[T](field: String, of: Seq[T])(value: (JsonNode, T) => Option[Any]) = {
            val nodes = group.path(field).elements.asScala.toSeq
            require(nodes.size == of.size, s"${nodes.size} $field instead of ${of.size}")
            nodes.zip(of).map { case (node, each) => value(node, each).orNull }
          }
          val values = read("values", functions) {
            case (node, (AggregateGoal.Sum, t))         => ConstantReader.unscaled(node, t)
            case (node, (AggregateGoal.Distinct(d), _)) => Some(registers(node, d))
            case (node, (_, t))                         => ConstantReader.value(node, t)
          }
          val by = read("by", columns)(ConstantReader.value)
          AnsweredGroup(group.path("key").intValue, by, values)
        }
        .toSeq
      AnsweredAggregates(
        Messages.kept(node.path("files"), count),
        node.path("covered").intValue,
        node.path("skipped").intValue,
        groups,
        Option(node.path("sample")).filter(_.isObject).map(Messages.kept(_, count))
      )
    }
  }

  /** Registers of no value have no bytes. Throws if there are more or fewer than Spark has. */
  private def registers(node: JsonNode, deviation: Double): Array[Byte] = {
    val bytes = ConstantReader
      .value(node, BinaryType)
      .fold(Array.empty[Byte])(_.asInstanceOf[Array[Byte]])
    val size = HllRegisters.size(deviation)
    require(bytes.isEmpty || bytes.length == size, s"${bytes.length} bytes instead of $size")
    bytes
  }

  private def hasGoal(answer: PlanAnswer): Boolean =
    !answer.goal.isNull && !answer.goal.isMissingNode

  /** The answer to a [[FactsGoal]]; None if an index does not describe each file. Throws if the
    * answer is not one to this question.
    *
    * @param types
    *   types of the columns of the question
    */
  def facts(answer: PlanAnswer, types: Seq[DataType]): Option[TableFacts] =
    if (!hasGoal(answer)) None
    else
      found(answer, "facts").toOption.map { node =>
        val columns = node.path("columns").elements.asScala.toSeq
        require(columns.size == types.size, s"${columns.size} facts for ${types.size} columns")
        val rows = count(node, "rows").getOrElse(garbage("facts without a number of rows"))
        TableFacts(
          rows,
          node.path("counts_distinct").asBoolean(false),
          columns.zip(types).map { case (column, t) => columnFacts(column, t, rows) }
        )
      }

  private def columnFacts(node: JsonNode, t: DataType, rows: Long): ColumnFacts = {
    val read = ColumnFacts(
      ConstantReader
        .value(node.path("least"), t)
        .zip(ConstantReader.value(node.path("greatest"), t)),
      count(node, "nulls"),
      count(node, "distinct"),
      count(node, "average_length"),
      count(node, "longest")
    )
    if (read.nulls.exists(_ > rows) || read.distinct.exists(_ > rows))
      garbage(s"facts $node of a column with $rows rows")
    read
  }

  private def count(node: JsonNode, field: String): Option[Long] =
    Option(node.get(field)).filterNot(_.isNull).map { number =>
      if (!number.isIntegralNumber || !number.canConvertToLong || number.longValue < 0)
        garbage(s"$field is not a count: $number")
      number.longValue
    }

  /** The answer of this kind, or the reason why there is none. Throws PlannerFailure if the answer
    * is of another kind.
    */
  def found(answer: PlanAnswer, kinds: String*): Either[Reason, JsonNode] = {
    val node = answer.goal
    node.path("kind").asText match {
      case kind if kinds.contains(kind) => Right(node)
      case "nothing"                    =>
        val reason = Messages.reason(node.path("reason"))
        Left(reason.getOrElse(garbage("no files for the goal, and no reason")))
      case other => garbage(s"an answer of kind '$other' instead of '${kinds.mkString("' or '")}'")
    }
  }
}
