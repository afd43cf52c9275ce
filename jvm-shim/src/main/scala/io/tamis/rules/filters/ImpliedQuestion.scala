package io.tamis.rules.filters

import io.tamis.bridge.{PlannerClient, PlannerUnavailable, Warnings}
import io.tamis.wire.{ExpressionWriter, ImpliedRange, ImpliedReader, ImpliedRequest}
import java.util
import java.util.UUID

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** Asks the planner which ranges of columns follow from predicates. */
object ImpliedQuestion {
  private val Remembered = 256

  /** Answers depend only on the predicates, and stay valid. */
  private val answers = new util.LinkedHashMap[String, JsonNode](16, 0.75f, true) {
    override def removeEldestEntry(eldest: util.Map.Entry[String, JsonNode]): Boolean =
      size > Remembered
  }

  /** Returns the ranges; Nil if there is no answer. Never throws. */
  def ask(conjuncts: Seq[Expression], schema: StructType, conf: SQLConf): Seq[ImpliedRange] =
    try {
      val documents = write(conjuncts, schema)
      val key = documents.toString
      val answer = Option(answers.synchronized(answers.get(key))).getOrElse {
        val request = ImpliedRequest(UUID.randomUUID().toString, documents)
        val answered = PlannerClient.imply(request, conf)
        answers.synchronized(answers.put(key, answered))
        answered
      }
      ImpliedReader.ranges(answer, conjuncts)
    } catch {
      case _: PlannerUnavailable               => Nil // the failure was already reported
      case e @ (NonFatal(_) | _: LinkageError) =>
        Warnings.once(
          s"implied:${e.getClass.getName}",
          s"cannot derive implied filters (${e.getMessage}). Queries run without them.",
          e
        )
        Nil
    }

  private def write(conjuncts: Seq[Expression], schema: StructType): ArrayNode = {
    val writer = new ExpressionWriter(ExpressionWriter.ambiguousPaths(schema))
    val documents = JsonNodeFactory.instance.arrayNode()
    conjuncts.foreach(c => documents.add(writer.write(c)))
    documents
  }
}
