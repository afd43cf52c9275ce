package io.tamis.rules.filters

import io.tamis.bridge.{AnyFailure, PlannerClient, RecentlyUsed, StartWait}
import io.tamis.wire.{ExpressionWriter, ImpliedRange, ImpliedReader, ImpliedRequest}

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** Asks the planner which ranges of columns follow from predicates. */
object ImpliedQuestion {
  private val Remembered = 256

  /** Answers depend only on the predicates, and stay valid. */
  private val answers = new RecentlyUsed[String, JsonNode](Remembered)

  /** Returns the ranges; Nil if there is no answer. Never throws. */
  def ask(
      conjuncts: Seq[Expression],
      schema: StructType,
      conf: SQLConf,
      startWait: StartWait
  ): Seq[ImpliedRange] =
    AnyFailure.warned(
      AnyFailure.keyed("implied"),
      "cannot derive implied filters",
      "Report this error. Queries run without them."
    ) {
      val writer = new ExpressionWriter(ExpressionWriter.ambiguousPaths(schema))
      val documents = writer.writeAll(conjuncts)
      val key = documents.toString
      val answer = answers.get(key).getOrElse {
        val answered = PlannerClient.ask(ImpliedRequest(documents), conf, startWait)(_.imply)
        answers.put(key, answered)
        answered
      }
      ImpliedReader.ranges(answer, conjuncts)
    }(_ => Nil)

}
