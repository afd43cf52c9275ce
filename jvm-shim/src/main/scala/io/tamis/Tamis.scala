package io.tamis

import io.tamis.bridge.{PlannerClient, SidecarSupervisor, StartWait, Warnings}
import io.tamis.formats.{IndexedFiles, OfGroup, RowsByFile, RowsInOrder}
import io.tamis.formats.delta.DeltaFiles
import io.tamis.formats.iceberg.IcebergRelation
import io.tamis.functions.QueryFunction
import io.tamis.listing.{FileOptions, Listing, Snapshots}
import io.tamis.maintenance.{IdleMaintenance, MaintenanceRun}
import io.tamis.planning.AnswerMemo
import io.tamis.remember.LearntFiles
import io.tamis.report.{Audit, Layouts, ScanHistory, ScanReport}
import io.tamis.wire.{Json, Messages, PredicateParser, UserFunction, WaitingFilesRequest}
import java.nio.file.Paths

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{Dataset, Row, SparkSession}
import org.apache.spark.sql.classic.{Dataset => ClassicDataset, SparkSession => ClassicSession}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.python.UserDefinedPythonFunction
import org.apache.spark.sql.internal.SQLConf

/** The entry points that the Python package calls in the driver. Arguments and results are strings,
  * and structured results are JSON.
  */
object Tamis {

  /** Version of the wire protocol that this jar speaks. */
  def wireVersion: Int = Messages.Version

  /** Discards remembered answers after an index of this root was built, refreshed or dropped, so
    * that the next query asks the planner again.
    */
  def invalidate(root: String): Unit = AnswerMemo.invalidate()

  /** Restarts the sidecar and forgets earlier failures and answers. For callers that have fixed the
    * cause of a failure.
    */
  def restart(): Unit = {
    SidecarSupervisor.restart()
    AnswerMemo.invalidate()
  }

  /** Waits until every query that ended so far is in the history. For callers that read it right
    * afterwards.
    */
  def flushHistory(session: SparkSession): Unit = {
    ScanHistory.flush(session.sparkContext)
  }

  /** Waits until what every query that ended so far has learnt about its files is stored. */
  def flushLearnt(session: SparkSession): Unit = LearntFiles.flush(session.sparkContext)

  /** The run of maintenance to which a Python process of this driver belongs. */
  def maintenance(run: String): MaintenanceRun = IdleMaintenance.run(run)

  /** The warnings of this driver, oldest first. */
  def warnings(): Array[String] = Warnings.all.toArray

  /** The settings `fs.*` of a session and of the files of Hadoop, as a JSON object. */
  def storageSettings(session: SparkSession): String = {
    val confs = session.sparkContext.getConf.getAll ++ session.conf.getAll
    val named = confs.map { case (key, value) => key.stripPrefix("spark.hadoop.") -> value }
    Json.text(
      FileOptions.settings(session, Map.empty) ++ named.filter { case (key, _) =>
        key.startsWith("fs.")
      }
    )
  }

  /** Lists a Parquet directory or a table as a query would, and writes the listing for Python to
    * map.
    * @return
    *   {"fingerprint", "files", "roots", "schema", "partition_schema", "case_sensitive"}. For files
    *   that are not Parquet also "reading" (ReadFingerprint), "overlapping" (a partition column is
    *   also in the files), and "malformed_record" (the column that `files` adds). For a table of
    *   Delta or Iceberg also "table_format" and, if no index describes its files, "refusal". For a
    *   table of Iceberg also "iceberg" (IcebergSnapshot), and for one of Delta with column mapping
    *   "delta" (MappedColumns).
    */
  def exportListing(session: SparkSession, pathOrTable: String, directory: String): String = {
    val classic = session.asInstanceOf[ClassicSession]
    // the caller's thread may last have worked for another session, with other confs
    classic.withActive(exportListing(rowsOf(classic, pathOrTable), pathOrTable, directory))
  }

  /** The overload for the result of a reader, which runs in the session of that result. */
  def exportListing(loaded: Dataset[_], name: String, directory: String): String =
    execution(loaded).sparkSession.withActive(exported(execution(loaded), name, directory))

  private def exported(loaded: QueryExecution, name: String, directory: String): String = {
    val files = IndexedFiles.of(loaded, name)
    val listing = files.listing
    Snapshots.write(listing, Paths.get(directory))
    val exported = Json.obj(
      "fingerprint" -> listing.fingerprint,
      "files" -> listing.size,
      "roots" -> files.roots.map(p => Listing.canonical(p.toUri.toString)),
      "schema" -> files.columns.json,
      "partition_schema" -> files.partitionColumns.json,
      "case_sensitive" -> SQLConf.get.caseSensitiveAnalysis
    )
    Json.text(Json.put(exported, files.details: _*))
  }

  /** Analyzes and simplifies a predicate over a schema.
    *
    * @return
    *   the expression document
    */
  def parse(session: SparkSession, sql: String, schemaJson: String): String =
    PredicateParser.parse(session.asInstanceOf[ClassicSession], sql, schemaJson)

  /** Analyzes a value over a schema, to compute statistics of it.
    *
    * @return
    *   a JSON object
    */
  def parseValue(session: SparkSession, sql: String, schemaJson: String): String =
    PredicateParser.parseValue(session.asInstanceOf[ClassicSession], sql, schemaJson)

  /** Every row of the files that `exportListing` lists: see IndexedFiles.rows. Text files get one
    * more column, see MalformedRecords.
    */
  def files(
      session: SparkSession,
      pathOrTable: String,
      asLines: Boolean,
      skipsUnreadable: Boolean
  ): Dataset[Row] = {
    val loaded = rowsOf(session.asInstanceOf[ClassicSession], pathOrTable)
    files(loaded, pathOrTable, asLines, skipsUnreadable)
  }

  /** The overload for the result of a reader. */
  def files(
      loaded: Dataset[_],
      name: String,
      asLines: Boolean,
      skipsUnreadable: Boolean
  ): Dataset[Row] = {
    val planned = execution(loaded)
    planned.sparkSession.withActive(
      IndexedFiles.of(planned, name).rows(asLines, skipsUnreadable)
    )
  }

  /** The rows of a query with a number for the file of each: see RowsByFile.numbered. */
  def numbered(rows: Dataset[_]): Dataset[Row] = RowsByFile.numbered(rows)

  /** Aggregates of rows by some columns: see RowsByFile.aggregated.
    *
    * @param wanted
    *   a JSON array of what to compute of each group: see OfGroup.of
    * @return
    *   null if executors cannot compute them
    */
  def aggregated(
      rows: Dataset[_],
      keys: java.util.List[String],
      most: Int,
      wanted: String
  ): Dataset[Row] = {
    val parts = Messages.mapper.readTree(wanted).elements.asScala.toSeq.map(OfGroup.of)
    RowsByFile.aggregated(rows, keys.asScala.toSeq, most, parts).orNull
  }

  /** For each file, whether its rows are sorted: see RowsInOrder.
    *
    * @param orders
    *   a JSON array of arrays of pairs: the name of a column, and whether it descends
    */
  def rowsInOrder(rows: Dataset[_], orders: String): Dataset[Row] = RowsInOrder.of(
    rows,
    Messages.mapper.readTree(orders).elements.asScala.toSeq.map { order =>
      order.elements.asScala.toSeq.map(pair => pair.path(0).asText -> pair.path(1).asBoolean)
    }
  )

  /** How many files wait for an automatic index; null if that is not known. */
  def waitingFiles(session: SparkSession, root: String, location: String): Integer = {
    PlannerClient
      .waiting(
        WaitingFilesRequest(root, location),
        session.asInstanceOf[ClassicSession].sessionState.conf
      )
      .map(Int.box)
      .orNull
  }

  /** Directory where Python leaves files for the sidecar. Only this user can read it, and it is
    * removed at exit.
    */
  def privateDirectory(): String = SidecarSupervisor.privateDirectory.toString

  /** The digest that distinguishes the Python function of this name from others; null if none is
    * registered.
    */
  def functionBody(session: SparkSession, name: String): String = UserFunction.bodyOf(session, name)

  def functionBody(function: UserDefinedPythonFunction): String = UserFunction.bodyOf(function)

  /** The decision for every scan of the plan, before or after it ran.
    *
    * @return
    *   a JSON array
    */
  def scans(dataset: Dataset[_]): String = StartWait.inFull(ScanReport.scans(execution(dataset)))

  /** The full report on every scan, for tamis.explain.
    *
    * @return
    *   a JSON object
    */
  def explain(dataset: Dataset[_]): String = {
    val planned = execution(dataset)
    planned.sparkSession.withActive(explained(planned))
  }

  /** The overload for the text of a query or command, which is planned and not run. */
  def explain(session: SparkSession, query: String): String = {
    val classic = session.asInstanceOf[ClassicSession]
    classic.withActive(explained(QueryFunction.planned(classic, query)))
  }

  private def explained(planned: QueryExecution): String =
    StartWait.inFull(Json.text(ScanReport.explained(planned)))

  /** Waits for the audits of queries that ended (spark.tamis.audit).
    *
    * @return
    *   false if some audits are still running after `millis`
    */
  def awaitAudits(millis: Long): Boolean = Audit.await(millis)

  /** How many files audits have read so far. */
  def auditedFiles: Long = Audit.files

  /** The scans of the plan and their filters, for tamis.what_if.
    *
    * @return
    *   a JSON array
    */
  def layouts(dataset: Dataset[_]): String = {
    val planned = execution(dataset)
    planned.sparkSession.withActive(StartWait.inFull(Layouts.scans(planned)))
  }

  /** The rows of the table behind one of these scans. */
  def rowsOfScan(dataset: Dataset[_], scan: Int): Dataset[Row] = {
    val planned = execution(dataset)
    planned.sparkSession.withActive(Layouts.rows(planned, scan))
  }

  private def execution(dataset: Dataset[_]): QueryExecution =
    dataset.asInstanceOf[ClassicDataset[_]].queryExecution

  /** The rows of a table, of the table of Delta or Iceberg at a path, or of the Parquet files under
    * it.
    */
  def read(session: SparkSession, pathOrTable: String): Dataset[Row] = {
    val classic = session.asInstanceOf[ClassicSession]
    classic.withActive(rowsOf(classic, pathOrTable))
  }

  private def rowsOf(session: ClassicSession, pathOrTable: String): ClassicDataset[Row] =
    if (!isPath(pathOrTable)) session.table(pathOrTable)
    else if (DeltaFiles.isTable(session, pathOrTable))
      session.read.format("delta").load(pathOrTable)
    else if (IcebergRelation.isTable(session, pathOrTable))
      session.read.format("iceberg").load(pathOrTable)
    else session.read.parquet(pathOrTable)

  /** Whether the text is a path: it has a slash or a scheme, and is not a quoted name. */
  private def isPath(text: String): Boolean =
    text.contains("/") && !isQuoted(text) || text.matches("^[A-Za-z][A-Za-z0-9+.-]*:.*")

  /** Whether the text is the quoted SQL name of a table with a slash, or of files: parquet.`/path`
    */
  private def isQuoted(text: String): Boolean = text.matches("^(\\w+\\.)*`.*")
}
