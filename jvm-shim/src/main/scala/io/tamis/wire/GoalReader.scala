package io.tamis.wire

import java.util.BitSet

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  GreaterThanOrEqual,
  IsNull,
  LessThanOrEqual,
  Or
}

/** Reads the planner's answer to a [[Goal]]: what it found, or the reason why it found nothing. */
object GoalReader {

  /** The files that serve the goal, among those that the filter keeps. */
  def files(answer: PlanAnswer, count: Int): Either[Reason, BitSet] =
    found(answer, "files").map(node => Messages.kept(node.path("files"), count))

  /** The files, and what every row of them that is needed passes.
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

  /** The answer of this kind. Throws PlannerFailure for one of another kind. */
  def found(answer: PlanAnswer, kind: String): Either[Reason, JsonNode] = {
    val node = answer.goal
    node.path("kind").asText match {
      case `kind`    => Right(node)
      case "nothing" => Left(Messages.reason(node.path("reason")).getOrElse(Unsaid))
      case other     =>
        throw new PlannerFailure("garbage_answer", s"an answer of kind '$other' instead of '$kind'")
    }
  }

  private val Unsaid = Reason("UNKNOWN", "the planner did not say why", None)
}
