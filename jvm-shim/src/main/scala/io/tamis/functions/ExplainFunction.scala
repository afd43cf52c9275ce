package io.tamis.functions

import io.tamis.planning.{Conjunct, ScanSizes}
import io.tamis.report.ScanReport
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.types.StructType

/** Explains the decisions of tamis for a query, which is planned and not run. Each scan has one
  * row, and one more row for each of its goals, each conjunct of its filter and each condition that
  * is known only when the query runs. Each relation that is left to Spark and each answer from
  * statistics has a row too.
  *
  * Columns: `scan` counts from 1 and is NULL for what tamis does not scan; `what` is scan, goal,
  * exact, inexact, unsupported, remembered, run time, left to spark or answered; `files_pruned`
  * counts what the conjunct prunes on its own.
  */
object ExplainFunction extends QueryFunction("tamis_explain") {
  override def usage: String =
    "tamis_explain(query) - which files each scan of the query reads, and why; the query is not run"

  override protected val schema: StructType = StructType.fromDDL(
    "scan INT, table STRING, what STRING NOT NULL, sql STRING, files_kept BIGINT, " +
      "files_total BIGINT, bytes_kept BIGINT, bytes_total BIGINT, rows_kept BIGINT, " +
      "rows_total BIGINT, files_pruned BIGINT, reason STRING, fix STRING, files_read BIGINT"
  )

  override protected def rows(planned: QueryExecution): Seq[Row] = {
    val explained = ScanReport.explained(planned)
    val scanned = explained.path("scans").elements.asScala.zipWithIndex.flatMap { case (scan, i) =>
      ofScan(scan, i + 1)
    }
    val leftToSpark = explained.path("left_to_spark").elements.asScala.map { relation =>
      row(
        "table" -> text(relation, "table"),
        "what" -> "left to spark",
        "reason" -> text(relation, "reason")
      )
    }
    val answered = explained.path("answered").elements.asScala.map { answer =>
      row(
        "table" -> text(answer, "table"),
        "what" -> "answered",
        "sql" -> text(answer, "goal"),
        "files_kept" -> 0L,
        "files_total" -> number(answer, "files")
      )
    }
    (scanned ++ leftToSpark ++ answered).toSeq
  }

  private def ofScan(scan: JsonNode, number: Int): Seq[Row] = {
    val head = Seq("scan" -> number, "table" -> text(scan, "table"))
    val itself = head ++ Seq("what" -> "scan") ++ fallback(scan) ++
      (ScanSizes.Names :+ "files_read").map(name => name -> this.number(scan, name))
    val runtime = scan.path("runtime").elements.asScala.map { condition =>
      head ++ Seq(
        "what" -> "run time",
        "sql" -> text(condition, "sql"),
        "reason" ->
          (if (condition.path("prunes").asBoolean)
             "known only when the query runs; then rules out files"
           else "known only when the query runs; applied to the rows")
      )
    }
    val goals = scan.path("goals").elements.asScala.map { goal =>
      head ++ Seq("what" -> "goal", "sql" -> text(goal, "goal")) ++ why(goal)
    }
    val conjuncts = scan.path("conjuncts").elements.asScala.map { c =>
      head ++ Seq(
        "what" -> text(c, "pushdown"),
        "sql" -> text(c, "sql"),
        "files_pruned" -> this.number(c, "pruned_files")
      ) ++ (if (c.path("remembered").asBoolean) Seq("reason" -> Conjunct.FoundTrue) else why(c))
    }
    val files = scan.path("remembered_files").asLong
    val groups = scan.path("remembered_row_groups").asLong
    val remembered = Option.when(files > 0 || groups > 0) {
      val more = if (groups > 0) s"$groups row groups of other files" else ""
      val which = Seq(if (files > 0) "these files" else "", more).filter(_.nonEmpty)
      head ++ Seq(
        "what" -> "remembered",
        "files_pruned" -> files,
        "reason" ->
          s"an earlier scan found no row that passes in ${which.mkString(" and in ")}"
      )
    }
    (Iterator(itself) ++ goals ++ conjuncts ++ remembered ++ runtime)
      .map(cells => row(cells: _*))
      .toSeq
  }

  private def fallback(scan: JsonNode): Seq[(String, Any)] = {
    val reason = text(scan, "fallback")
    val observed = s"observed, not applied: $reason"
    Seq(
      "reason" -> (if (scan.path("observed").asBoolean) observed else reason),
      "fix" -> text(scan.path("fallback_reason"), "fix")
    )
  }

  private def why(node: JsonNode): Seq[(String, Any)] = {
    val reason = node.path("reason")
    Seq("reason" -> text(reason, "text"), "fix" -> text(reason, "fix"))
  }

  private def row(cells: (String, Any)*): Row = {
    val known = cells.toMap
    Row.fromSeq(schema.fieldNames.toSeq.map(known.getOrElse(_, null)))
  }

  private def text(node: JsonNode, field: String): String =
    Option(node.get(field)).filterNot(_.isNull).map(_.asText).orNull
  private def number(node: JsonNode, field: String): Any =
    Option(node.get(field)).filterNot(_.isNull).map(_.asLong).orNull
}
