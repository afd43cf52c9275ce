package io.tamis.wire

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
import org.apache.spark.sql.types.DataType

/** Aggregates answered by statistics.
  *
  * @param files
  *   the files that must be read for the rest
  * @param covered
  *   how many files statistics answer for
  * @param skipped
  *   how many other files cannot change the result
  * @param groups
  *   group number -> one value per aggregate (null: NULL); a group that is absent has no row in the
  *   covered files
  */
final case class AnsweredAggregates(
    files: BitSet,
    covered: Int,
    skipped: Int,
    groups: Map[Int, Seq[Any]]
) {

  /** The source of the answer, for people. */
  def text: String =
    s"$covered files answered from statistics" +
      (if (skipped > 0) s", $skipped cannot change the result" else "")
}

/** Reads the planner's answer to a [[Goal]]: the result, or the reason why there is none. */
object GoalReader {

  /** The files that serve the goal, among those that the filter keeps. */
  def files(answer: PlanAnswer, count: Int): Either[Reason, BitSet] =
    found(answer, "files").map(node => Messages.kept(node.path("files"), count))

  /** The files, and a predicate that holds for every needed row in them.
    *
    * @param key
    *   the key of a [[TopKGoal]], over the attributes of the relation
    */
  def first(
      answer: PlanAnswer,
      count: Int,
      key: Expression,
      goal: TopKGoal
  ): Either[Reason, (BitSet, Option[Expression])] =
    found(answer, "files").map { node =>
      val until = ImpliedReader.constant(node.path("until"), key.dataType).map { last =>
        val within =
          if (goal.descending) GreaterThanOrEqual(key, last) else LessThanOrEqual(key, last)
        if (goal.nullsFirst) Or(IsNull(key), within) else within
      }
      (Messages.kept(node.path("files"), count), until)
    }

  /** One flag per key of the question. */
  def flags(answer: PlanAnswer, count: Int): Seq[Boolean] = found(answer, "clustered") match {
    case Right(node) =>
      val received = node.path("flags").elements.asScala.map(_.asBoolean(false)).toSeq
      if (received.size == count) received else Seq.fill(count)(false)
    case Left(_) => Seq.fill(count)(false)
  }

  /** The answer to an [[AggregateGoal]].
    *
    * @param types
    *   types of the aggregates of the question
    */
  def aggregates(
      answer: PlanAnswer,
      count: Int,
      types: Seq[DataType]
  ): Either[Reason, AnsweredAggregates] =
    found(answer, "aggregate").map { node =>
      val groups = node
        .path("groups")
        .elements
        .asScala
        .map { group =>
          val values = group.path("values").elements.asScala.toSeq
          require(values.size == types.size, s"${values.size} values for ${types.size} aggregates")
          val read = values.zip(types).map { case (v, t) => ConstantReader.value(v, t).orNull }
          group.path("key").intValue -> read
        }
        .toSeq
      AnsweredAggregates(
        Messages.kept(node.path("files"), count),
        node.path("covered").intValue,
        node.path("skipped").intValue,
        groups.toMap
      )
    }

  /** The answer of this kind, or the reason why there is none. Throws PlannerFailure if the answer
    * is of another kind.
    */
  def found(answer: PlanAnswer, kind: String): Either[Reason, JsonNode] = {
    val node = answer.goal
    node.path("kind").asText match {
      case `kind`    => Right(node)
      case "nothing" =>
        Left(
          Messages
            .reason(node.path("reason"))
            .getOrElse(
              throw new PlannerFailure("garbage_answer", "no files for the goal, and no reason")
            )
        )
      case other =>
        throw new PlannerFailure("garbage_answer", s"an answer of kind '$other' instead of '$kind'")
    }
  }
}
