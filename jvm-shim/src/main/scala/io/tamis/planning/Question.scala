package io.tamis.planning

import io.tamis.bridge.{
  AnyFailure,
  PlannerClient,
  SidecarStarting,
  SidecarSupervisor,
  StartWait,
  Warnings
}
import io.tamis.conf.TamisConf
import io.tamis.listing.{FileFormats, Listing, Snapshots}
import io.tamis.remember.PredicateKeys
import io.tamis.wire._
import java.nio.file.Files

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** One question to the planner: which files of this listing can hold a row that satisfies these
  * filters?
  *
  * @param detail
  *   also count what each filter prunes on its own; takes longer, and the answer is not remembered
  * @param among
  *   consider only these files; None: all files of the listing
  * @param goal
  *   an additional question about the files that the filters keep
  * @param wholeFiles
  *   do not consider row groups
  * @param unaided
  *   the files that Spark reads if there is no answer; None: those of `among`
  */
final class Question(
    table: PlannedFiles,
    listing: Listing,
    filters: Seq[Expression],
    detail: Boolean = false,
    among: Option[FileSelection] = None,
    goal: Option[Goal] = None,
    wholeFiles: Boolean = false,
    unaided: Option[FileSelection] = None
) {
  private val conf = SQLConf.get

  /** Returns the answer, or why there is none. Never throws. */
  def ask(): Either[Reason, PlanAnswer] = guarded(known).flatMap {
    case Some(answer)              => Right(answer.copy(spent = None))
    case None if AskAhead.isNoting =>
      AskAhead.note(this)
      Left(Reasons("SIDECAR_STARTING")) // of a plan that is not used
    case None =>
      guarded {
        val answered = withOutcomes(request())
        if (!detail) AnswerMemo.put(key, answered)
        answered
      }
  }

  /** The request, and what its answer is remembered by; None if an answer is. Never throws. */
  private[planning] def open: Option[(AnswerMemo.Key, PlanRequest)] =
    guarded(Option.when(!detail && known.isEmpty)(key -> request())).toOption.flatten

  private def known: Option[PlanAnswer] = if (detail) None else AnswerMemo.get(key)

  private lazy val key = AnswerMemo.Key(scan, rowGroups, goal, mostValues)

  /** Returns the scan, for the goal of another question. Its snapshot exists. Never throws. */
  def asSource(key: Expression): Either[Reason, KeySource] = guarded {
    exportListing()
    KeySource(scan, Question.writer(table).write(key))
  }

  /** Returns what statistics prove about each file of the listing, in its order, or why that is not
    * known. Never throws.
    */
  def evidence(): Either[Reason, Seq[Evidence]] = guarded {
    val message = EvidenceRequest(request())
    val file = Evidence.file(message.id)
    try {
      PlannerClient.ask(message, conf)(_.evidence)
      Evidence.read(file, listing.size)
    } finally Files.deleteIfExists(file)
  }

  private def guarded[A](act: => A): Either[Reason, A] =
    AnyFailure.warned[Either[Reason, A]](
      AnyFailure.keyed("planner"),
      s"planning the scan of ${table.name()} failed",
      "Report this error. The scan reads what plain Spark would read."
    )(Right(act)) {
      case _: SidecarStarting => Left(Reasons("SIDECAR_STARTING"))
      case e => Left(Reasons("PLANNER_FAILED", "error" -> String.valueOf(e.getMessage)))
    }

  /** The question as it is sent, after writing the snapshot that it refers to. May throw. */
  def document(): ObjectNode = request().document

  /** The answer to a question; if values of columns would help, the answer to the question with the
    * outcomes of their evaluation.
    */
  private def withOutcomes(question: PlanRequest): PlanAnswer = {
    val answer = send(question)
    if (answer.wanted.isEmpty) answer
    else
      AnyFailure.warned(
        AnyFailure.keyed("values"),
        s"evaluating predicates for the values of ${table.name()} failed",
        "Report this error, or set spark.tamis.evaluateValues.enabled=false. The scan reads the " +
          "files that it would read without."
      ) {
        ValueEvaluation.forAnswer(question.id, answer.wanted, evaluables, conf)(outcomes =>
          if (outcomes.isEmpty) answer else send(question.copy(outcomes = outcomes))
        )
      }(_ => answer)
  }

  private def send(question: PlanRequest): PlanAnswer = {
    val answer = PlannerClient.ask(question, conf, startWait)(_.plan)
    Question.showWarnings(answer)
    answer
  }

  /** A guard compares the answer with what a user requires, so that it needs one. Details are for a
    * user too. The mode `observe` waits as `apply` does, and so reports what `apply` would do.
    */
  private def startWait: StartWait =
    if (detail || TamisConf.isGuarded(conf)) StartWait.Full
    else
      StartWait.atMost {
        val read = unaided.orElse(among)
        ReadingTime.millis(
          read.fold(listing.size)(_.count).toLong,
          read.fold(listing.totalBytes)(_.bytes),
          conf
        )
      }

  private def request(): PlanRequest = {
    exportListing()
    PlanRequest(scan, detail, rowGroups, goal, mostValues)
  }

  private def exportListing(): Unit = OncePerRule(Question.Exported(new Same(listing))) {
    Snapshots.ensure(listing, SidecarSupervisor.privateDirectory)
  }

  // callers that set a goal do not read any files yet
  private val rowGroups = goal.isEmpty && !wholeFiles && TamisConf.rowGroupsEnabled(conf)

  private lazy val indexed = new IndexedTable(table, conf)

  private lazy val mostValues =
    if (evaluables.isEmpty) 0 else TamisConf.evaluateValuesMaxValues(conf)

  /** What other questions about the same filters have in common with this one. */
  private lazy val (conjuncts, evaluables) =
    OncePerRule(Question.Documents(new Same(table.relation), filters.map(new Same(_)))) {
      val writer = Question.writer(table)
      if (TamisConf.evaluateValuesEnabled(conf)) writer.writeEvaluable(filters)
      else (writer.writeAll(filters), Map.empty[String, Evaluable])
    }

  private lazy val scan =
    OncePerRule(
      Question.Scan(new Same(table.relation), new Same(listing), filters.map(new Same(_)), among)
    )(scanOfFiles)

  private def scanOfFiles = ScanRequest(
    SnapshotOfFiles(
      listing.fingerprint,
      SidecarSupervisor.privateDirectory.toString,
      listing.size
    ),
    indexed.table,
    indexed.settings,
    indexed.storage,
    TamisConf.cacheLocation(conf),
    conjuncts,
    TamisConf.declarations(conf),
    among.filterNot(_.isAll).map(files => Messages.keptDocument(files.ordinals, listing.size)),
    indexed.reading,
    delta = indexed.recorded.collect { case snapshot: DeltaSnapshot => snapshot },
    iceberg = indexed.recorded.collect { case snapshot: IcebergSnapshot => snapshot },
    remembered = remembered
  )

  /** None if files that are read now may hold other rows under the same names than those that were
    * learnt from.
    */
  private def remembered: Option[RememberedKeys] =
    Option.when(
      filters.nonEmpty && TamisConf.rememberEnabled(conf) && !table.isReadByFormat &&
        FileFormats.isParquet(table.relation)
    ) {
      RememberedKeys(PredicateKeys.reading(table), PredicateKeys.of(table, filters))
    }
}

object Question {

  private[planning] def showWarnings(answer: PlanAnswer): Unit =
    answer.warnings.foreach { case (code, text) => Warnings.once(s"planner:$code:$text", text) }

  /** Keys of what a rule computes once. Filters are compared by identity: Spark takes 0.0 and -0.0
    * for the same literal.
    */
  private final case class Documents(relation: Same, filters: Seq[Same])
  private final case class Scan(
      relation: Same,
      listing: Same,
      filters: Seq[Same],
      among: Option[FileSelection]
  )
  private final case class Exported(listing: Same)

  /** The files of a listing, as what is learnt about them is stored. Its snapshot exists. */
  def identity(table: PlannedFiles, listing: Listing): FilesIdentity = FilesIdentity(
    SnapshotOfFiles(
      listing.fingerprint,
      SidecarSupervisor.privateDirectory.toString,
      listing.size
    ),
    table.name(),
    TamisConf.cacheLocation(SQLConf.get),
    TamisConf.rememberMaxSizeBytes(SQLConf.get)
  )

  /** A writer for expressions over the columns of a table. Each path that it writes names one
    * column, and the statistics of that column are of the values that Spark reads.
    */
  def writer(table: PlannedFiles): ExpressionWriter = writer(table.schema)

  /** The same, over these columns of a table. */
  def writer(columns: StructType): ExpressionWriter = {
    val shifted =
      // Spark then shifts INT96 timestamps of other writers by the session's time zone
      if (SQLConf.get.isParquetINT96TimestampConversion) ExpressionWriter.timestampPaths(columns)
      else Set.empty[String]
    new ExpressionWriter(ExpressionWriter.ambiguousPaths(columns) ++ shifted)
  }
}
