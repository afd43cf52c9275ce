package io.tamis.functions

import java.time.Instant

import io.tamis.report.ScanReport
import io.tamis.source.{Decision, PlannedFiles, ScanDetail}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata
import org.apache.spark.sql.types.StructType

/** Every file of every scan of a query, which is planned and not run: whether it is read, what left
  * it out, and the statistics that say so, as anyone may evaluate them again.
  *
  * Columns: `scan` as `tamis_explain` counts; `kept`: tamis keeps the file, in the mode `observe`
  * would keep it; `read`: the query reads it, as far as that is known before it runs; `verdict` is
  * that of statistics over all conjuncts (none, some, all), and NULL where nothing is known of the
  * file; `decided_by` is the first conjunct that on its own leaves the file out, or what else did;
  * `statistics` holds cells of the public `files` table as literals of SQL.
  */
object FilesFunction extends QueryFunction("tamis_files") {
  override def usage: String =
    "tamis_files(query) - the files of each scan of the query, which are read, and what decided that"

  override protected val schema: StructType = StructType.fromDDL(
    "scan INT NOT NULL, table STRING, file STRING NOT NULL, size BIGINT NOT NULL, " +
      "modified TIMESTAMP NOT NULL, rows BIGINT, kept BOOLEAN NOT NULL, verdict STRING, " +
      "decided_by STRING, statistics MAP<STRING, STRING>, read BOOLEAN NOT NULL"
  )

  override protected def rows(planned: QueryExecution): Seq[Row] =
    ScanReport.decisions(planned.executedPlan).zipWithIndex.flatMap { case ((table, d), i) =>
      ofScan(i + 1, table, d)
    }

  private def ofScan(number: Int, table: PlannedFiles, decision: Decision): Seq[Row] = {
    val detail = new ScanDetail(table, decision.shown)
    val isRead = if (decision.isObserved) new ScanDetail(table, decision).isKept else detail.isKept
    val evidence = detail.evidence().toOption // without it the files are told all the same
    val name = table.name()
    detail.listing.files.indices.map { i =>
      val (file, found) = (detail.listing.files(i), evidence.map(_(i)))
      Row(
        number,
        name,
        pathOf(file),
        file.getLen,
        Instant.ofEpochMilli(file.getModificationTime),
        found.flatMap(_.rows).map(Long.box).orNull,
        detail.isKept(i),
        found.flatMap(_.verdict).orNull,
        detail.decidedBy(i, found).orNull,
        found.map(_.statistics).orNull,
        isRead(i)
      )
    }
  }

  /** As `_metadata.file_path` has it (FileFormat, seen on 4.0 to 4.3), so that both can be joined.
    */
  private def pathOf(file: FileStatusWithMetadata): String =
    new Path(file.getPath.toString).toUri.toString
}
