package io.tamis.remote

import io.tamis.bridge.{AnyFailure, PlannerClient, Warnings}
import io.tamis.conf.TamisConf
import io.tamis.wire.{ExpressionWriter, RemoteAnswer, RemoteQuestion}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.internal.SQLConf

/** Asks the planner what the source of a table does with filters, and what it knows. */
object AskSource {

  /** The share of the deadline of a planning call that the server may use. */
  private[remote] val Share = 0.8

  /** Never throws: if there is no answer, all filters are sent and Spark applies all of them. */
  def apply(table: RemoteTable, filters: Seq[Expression], columns: Seq[String]): RemoteAnswer = {
    val key = s"remote:${table.hashCode}"
    AnyFailure.warned(
      _ => key,
      s"preparing the scan of a ${table.format} table failed",
      "Report this error. Spark itself applies all filters on the table."
    ) {
      val conf = SQLConf.get
      val writer = new ExpressionWriter(ExpressionWriter.ambiguousPaths(table.schema))
      val question = RemoteQuestion(
        table.format,
        table.options.asCaseSensitiveMap().asScala.toMap,
        TamisConf.timeoutMs(conf) * Share / 1000,
        writer.writeAll(filters),
        columns,
        RemoteFiles.storage(table.session)
      )
      val answer = PlannerClient.ask(question, conf)(_.remote)
      answer.problem match {
        case Some(text) =>
          Warnings.once(
            key,
            s"${text.stripSuffix(".")}. Spark itself applies all filters on the table, and has " +
              "no statistics of the table."
          )
          answer.copy(label = table.label)
        case None =>
          Warnings.resolved(key)
          answer
      }
    }(_ => RemoteAnswer.unknown(table.label, filters.size))
  }
}
