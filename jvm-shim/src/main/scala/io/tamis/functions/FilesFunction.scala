package io.tamis.functions

import io.tamis.formats.IndexedFiles
import io.tamis.planning.{Decision, PlannedFiles, ScanDetail}
import io.tamis.report.ScanReport
import java.time.Instant

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata
import org.apache.spark.sql.types.StructType

/** Lists every file of every scan of a query, which is planned and not run: whether the file is
  * read, what pruned it, and the statistics that prove it, in a form that users can evaluate again.
  *
  * Columns: `scan` counts as in `tamis_explain`; `kept`: tamis keeps the file, or would keep it in
  * the mode `observe`; `read`: the query reads it, as far as that is known before it runs;
  * `verdict` is that of statistics over all conjuncts (none, some, all), and NULL if nothing is
  * known about the file; `decided_by` is the first conjunct that on its own prunes the file, or
  * whatever else pruned it; `statistics` holds cells of the public `files` table as SQL literals.
  */
object FilesFunction extends QueryFunction("tamis_files") {
  override def usage: String =
    "tamis_files(query) - the files of each scan of the query, whether each is read, and why"

  override protected val schema: StructType = StructType.fromDDL(
    "scan INT NOT NULL, table STRING, file STRING NOT NULL, size BIGINT NOT NULL, " +
      "modified TIMESTAMP, rows BIGINT, kept BOOLEAN NOT NULL, verdict STRING, " +
      "decided_by STRING, statistics MAP<STRING, STRING>, read BOOLEAN NOT NULL"
  )

  override protected def rows(planned: QueryExecution): Seq[Row] =
    ScanReport.decisions(planned.executedPlan).zipWithIndex.flatMap { case ((table, d), i) =>
      ofScan(i + 1, table, d)
    }

  private def ofScan(number: Int, table: PlannedFiles, decision: Decision): Seq[Row] = {
    val detail = new ScanDetail(table, decision.shown)
    val isRead = if (decision.isObserved) new ScanDetail(table, decision).isKept else detail.isKept
    val evidence = detail.evidence().toOption // if it is missing, the files are still listed
    val name = table.name()
    detail.listing.files.indices.map { i =>
      val (file, known) = (detail.listing.files(i), evidence.map(_(i)))
      Row(
        number,
        name,
        pathOf(file),
        file.getLen,
        modifiedAt(file).orNull,
        known.flatMap(_.rows).map(Long.box).orNull,
        detail.isKept(i),
        known.flatMap(_.verdict).map(_.name).orNull,
        detail.decidedBy(i, known).orNull,
        known.map(_.statistics).orNull,
        isRead(i)
      )
    }
  }

  /** None for a file whose table does not record it. */
  private def modifiedAt(file: FileStatusWithMetadata): Option[Instant] =
    Some(file.getModificationTime).filterNot(_ == IndexedFiles.Unchanging).map(Instant.ofEpochMilli)

  /** The path as `_metadata.file_path` spells it (FileFormat, seen on 4.0 to 4.3), so that the two
    * can be joined.
    */
  private def pathOf(file: FileStatusWithMetadata): String =
    new Path(file.getPath.toString).toUri.toString
}
