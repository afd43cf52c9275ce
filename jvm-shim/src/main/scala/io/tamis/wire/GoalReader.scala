package io.tamis.wire

import java.util.BitSet

import com.fasterxml.jackson.databind.JsonNode

/** Reads the planner's answer to a [[Goal]]: what it found, or the reason why it found nothing. */
object GoalReader {

  /** The files that serve the goal, among those that the filter keeps. */
  def files(answer: PlanAnswer, count: Int): Either[Reason, BitSet] =
    found(answer, "files").map(node => Messages.kept(node.path("files"), count))

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
