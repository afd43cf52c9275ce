package io.tamis.wire

import java.util.UUID

import com.fasterxml.jackson.databind.node.ObjectNode

/** A request to the planner.
  *
  * @tparam A
  *   what the answer says
  */
trait Request[A] extends Product {
  final val id: String = UUID.randomUUID().toString

  /** The content, beside the version and the id. */
  private[wire] def fields: Seq[(String, Any)] = Json.fields(this)

  /** Reads the answer, and throws PlannerFailure unless it belongs to this request. */
  def read(answer: String): A

  /** Minimum deadline, for requests where a person and not a query waits for the answer. */
  def leastMs: Long = 0

  final def document: ObjectNode =
    Json.obj(Seq("version" -> Messages.Version, "id" -> id) ++ fields: _*)
  final def toJson: String = Json.text(document)
}

/** A request for a file that the sidecar writes into a directory; the answer is its notes. */
trait FileRequest extends Request[Seq[String]] {
  override def read(answer: String): Seq[String] = Messages.notes(answer, id)
  override def leastMs: Long = 60000
}
