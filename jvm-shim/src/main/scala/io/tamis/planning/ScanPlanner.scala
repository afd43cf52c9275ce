package io.tamis.planning

import io.tamis.bridge.PlannerClient
import io.tamis.conf.{Mode, TamisConf}
import io.tamis.listing.{
  FileOptions,
  Listing,
  ListingCache,
  PartitionPredicate,
  RecordedFileIndex,
  StaleFileCheck
}
import io.tamis.wire._
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, PartitioningAwareFileIndex}
import org.apache.spark.sql.internal.SQLConf

import scala.util.Try
import scala.util.control.NonFatal

/** Decides a scan: Spark's listing and partition pruning first, then the planner's answer on top.
  *
  * If anything fails in the planner, the decision is the one of plain Spark: the partitions that
  * match, every file in them, and every other conjunct applied to the rows.
  */
object ScanPlanner {

  /** The decision for a scan without a filter: every file that it is confined to, without asking
    * the planner.
    */
  def everything(table: PlannedFiles): Decision = {
    def of(files: FileSelection) = Decision(files, Nil, None, None, 0.0, None)
    table.purpose.within match {
      case None => of(FileSelection.all(listing(table, Nil))).copy(implied = table.purpose.implied)
      case Some(files) =>
        val confined = of(files).copy(implied = table.purpose.implied)
        if (!observes) confined
        else
          of(FileSelection.all(files.listing))
            .copy(fallbackReason = Some(Reasons("OBSERVING")), observed = Some(confined))
    }
  }

  /** All files of the table, whatever a scan is confined to. */
  def wholeListing(table: PlannedFiles): Listing = table.relation.location match {
    // not remembered: a plan may live long, and does not need the other partitions
    case catalog: CatalogFileIndex =>
      checked(table, listingOf(table, catalog.filterPartitions(Nil)))
    case _ => listing(table, Nil)
  }

  /** The decision, confined to these of its files. In the mode `observe`, only what would have been
    * kept becomes less.
    */
  def confined(decision: Decision, files: FileSelection): Decision = {
    val shown = decision.shown
    val kept = shown.kept.and(files)
    if (kept.count == shown.kept.count) decision
    else {
      val fewer = shown.copy(kept = kept, keptRecords = None, rowGroups = None)
      if (!observes) fewer
      else
        decision.copy(fallbackReason = Some(Reasons("OBSERVING")), observed = Some(fewer))
    }
  }

  private def observes: Boolean = TamisConf.mode(SQLConf.get) == Mode.Observe

  def decide(table: PlannedFiles, filters: Seq[Expression]): Decision = {
    val started = System.nanoTime()
    val partitioned = onPartitions(table, filters)
    val (listed, matching) = (partitioned.files.listing, partitioned.files)
    val listedAt = System.nanoTime()

    // what plain Spark reads: goals confine a scan, but in the mode `observe` only what is shown
    def all: FileSelection =
      if (observes) partitioned.unconfined() else matching

    def exactOnPartitions(e: Expression): Boolean = partitioned.exact.exists(_ eq e)
    def elapsed: Double = (System.nanoTime() - started) / 1e6

    def asSparkWould(why: Reason): Decision = {
      val conjuncts = filters.map(f =>
        if (exactOnPartitions(f)) Conjunct(f, Pushdown.Exact, None, None)
        else Conjunct(f, Pushdown.Unsupported, Some(why), None)
      )
      Decision(all, conjuncts, None, None, elapsed, Some(why))
    }

    val reply = new Question(
      table,
      listed,
      filters,
      among = table.purpose.within,
      wholeFiles = table.wholeFiles,
      unaided = Some(matching)
    ).ask()
    val answeredAt = System.nanoTime()
    reply match {
      case Left(why)     => asSparkWould(why)
      case Right(answer) =>
        val ranges = answer.rowGroups.fold(FileRanges.none)(FileRanges.of)
        val kept = FileSelection.of(listed, answer.kept, ranges)
        val conjuncts = filters.zip(answer.outcomes).map { case (f, outcome) =>
          Conjunct(
            f,
            if (exactOnPartitions(f)) Pushdown.Exact else outcome.pushdown,
            if (exactOnPartitions(f)) None else outcome.reason,
            outcome.prunedFiles,
            outcome.isRemembered && !exactOnPartitions(f)
          )
        }
        // exact was proven for every file that the answer keeps; a subset keeps the proof, but the
        // row count is lost
        val both = if (matching.isAll) kept else kept.and(matching)
        // forces the list of files here, so that its cost is part of the planning time
        both.directories
        val decided = Decision(
          both,
          conjuncts,
          answer.keptRecords.filter(_ => both.count == kept.count),
          answer.totalRecords,
          elapsed,
          None,
          ImpliedReader.ranges(answer.implied, filters).flatMap(_.conjuncts) ++
            table.purpose.implied,
          answer.rowGroups.map(g => Kept(g.kept.filter(_ => both.count == kept.count), g.total)),
          Some(Timing((listedAt - started) / 1e6, (answeredAt - listedAt) / 1e6, answer.spent)),
          rememberedFiles = answer.rememberedFiles,
          rememberedRowGroups = answer.rowGroups.fold(0L)(_.remembered)
        )
        if (!observes) decided
        else asSparkWould(Reasons("OBSERVING")).copy(observed = Some(decided))
    }
  }

  /** Asks about the files of a scan before the scan is built. Left if the planner is not available,
    * or if Spark may leave out files whose rows the answer counts. In the mode `observe` a scan
    * shows the answer, but does not apply it: a rule may confine scans, and change nothing else.
    */
  def ask(
      table: PlannedFiles,
      filters: Seq[Expression],
      goal: Goal
  ): Either[Reason, GoalAnswer] = askOf(table, filters)(_ => goal)

  /** Same as `ask`, with a goal that depends on the listing. */
  def askOf(table: PlannedFiles, filters: Seq[Expression])(
      goalOf: Listing => Goal
  ): Either[Reason, GoalAnswer] = countable(table, filters).flatMap { partitioned =>
    val rest = partitioned.rest(filters)
    partitioned
      .question(table, rest, Some(goalOf(partitioned.files.listing)))
      .ask()
      .map(GoalAnswer(partitioned.files, rest, _))
  }

  /** A scan as the source of join keys, for the goal of another scan; Left as for `ask`. */
  def keySource(
      table: PlannedFiles,
      filters: Seq[Expression],
      key: Expression
  ): Either[Reason, KeySource] = countable(table, filters).flatMap { partitioned =>
    partitioned.question(table, partitioned.rest(filters), None).asSource(key)
  }

  /** The files of the partitions that match. Left if Spark may leave out files whose rows an answer
    * would count.
    */
  private def countable(
      table: PlannedFiles,
      filters: Seq[Expression]
  ): Either[Reason, OnPartitions] =
    if (new FileOptions(table).mayLoseFiles) Left(Reasons("MAY_LOSE_FILES"))
    else Right(onPartitions(table, filters))

  /** The files that serve a goal; Left as for `ask`, or if the planner chooses none for it. */
  def filesFor(
      table: PlannedFiles,
      filters: Seq[Expression],
      goal: Goal
  ): Either[Reason, FileSelection] = ask(table, filters, goal).flatMap { goalAnswer =>
    val listing = goalAnswer.asked.listing
    GoalReader.files(goalAnswer.answer, listing.size).map(FileSelection.of(listing, _))
  }

  /** The files, as whole files, that these filters keep among those that the scan is confined to.
    * None if the planner is not available or only observes.
    */
  def survivors(table: PlannedFiles, filters: Seq[Expression]): Option[FileSelection] =
    if (TamisConf.mode(SQLConf.get) != Mode.Apply) None
    else {
      val partitioned = onPartitions(table, filters)
      val (files, listing) = (partitioned.files, partitioned.files.listing)
      val rest = partitioned.rest(filters)
      new Question(table, listing, rest, among = Some(files), wholeFiles = true)
        .ask()
        .toOption
        .map(answer => files.and(FileSelection.of(listing, answer.kept)))
    }

  /** What indexes know of all files of a listing of the table, whatever the scan reads of them.
    * None if an index does not describe each of them, if the planner is not available, or if Spark
    * may leave out files.
    *
    * @param columns
    *   attributes of the table
    */
  def facts(table: PlannedFiles, listing: Listing, columns: Seq[Attribute]): Option[TableFacts] =
    if (new FileOptions(table).mayLoseFiles) None
    else {
      val goal = FactsGoal(Question.writer(table).writeAll(columns))
      new Question(table, listing, Nil, goal = Some(goal))
        .ask()
        .toOption
        .flatMap(answer => Try(GoalReader.facts(answer, columns.map(_.dataType))).toOption.flatten)
    }

  /** Whether more than one file is left to choose from, among the files that the scan is confined
    * to and after partition pruning. Answers without a request to the planner or a metastore.
    */
  def hasChoice(table: PlannedFiles, filters: Seq[Expression]): Boolean =
    table.purpose.within match {
      case Some(files) if files.count < 2 => false
      case _                              =>
        table.relation.location match {
          case _: PartitioningAwareFileIndex => onPartitions(table, filters).files.count > 1
          case _                             => true // a catalog would ask its metastore
        }
    }

  /** Spark's partition pruning, within the files that the scan is confined to. */
  private def onPartitions(table: PlannedFiles, filters: Seq[Expression]): OnPartitions =
    OncePerRule(Partitioned(new Same(table), filters.map(new Same(_))))(partitioned(table, filters))

  private final case class Partitioned(table: Same, filters: Seq[Same])

  private def partitioned(table: PlannedFiles, filters: Seq[Expression]): OnPartitions = {
    val schema = table.relation.partitionSchema
    val implied = filters.flatMap(f => PartitionPredicate.impliedBy(f, schema).map(f -> _))
    val within =
      table.purpose.within.getOrElse(FileSelection.all(listing(table, implied.map(_._2))))
    val groups = within.listing.groups.map(_.values)
    // in the order of the filters, each only on the partitions that are left, as Spark does
    var left = Array.fill(groups.length)(true)
    val decided = implied.filter { case (_, predicate) =>
      val passes = PartitionPredicate.onEach(predicate, schema, groups, left(_))
      passes.foreach(left = _)
      passes.isDefined
    }
    val exact = decided.collect { case (filter, predicate) if filter eq predicate => filter }
    def matching(files: FileSelection) = if (decided.isEmpty) files else files.whereGroup(left)
    OnPartitions(matching(within), exact, () => matching(FileSelection.all(within.listing)))
  }

  /** The files of the partitions that match, and the filters that are true for all their rows.
    *
    * @param unconfined
    *   the files of these partitions, whatever the scan is confined to
    */
  private final case class OnPartitions(
      files: FileSelection,
      exact: Seq[Expression],
      unconfined: () => FileSelection
  ) {

    /** The other filters. */
    def rest(filters: Seq[Expression]): Seq[Expression] =
      filters.filterNot(f => exact.exists(_ eq f))

    def question(table: PlannedFiles, rest: Seq[Expression], goal: Option[Goal]): Question =
      new Question(table, files.listing, rest, among = Some(files), goal = goal)
  }

  /** Spark's listing; for a catalog table the metastore returns only the matching partitions, as in
    * Spark.
    */
  private def listing(table: PlannedFiles, onPartitions: Seq[Expression]): Listing =
    table.relation.location match {
      case recorded: RecordedFileIndex       => recorded.listing // such files never change
      case index: PartitioningAwareFileIndex =>
        table.listed(Nil)(checked(table, listingOf(table, index)))
      case catalog: CatalogFileIndex =>
        table.listed(onPartitions) {
          checked(table, listingOf(table, partitionsOf(catalog, onPartitions)))
        }
      case other =>
        throw new IllegalStateException(s"a relation with ${other.getClass} is not eligible")
    }

  private def listingOf(table: PlannedFiles, index: PartitioningAwareFileIndex): Listing =
    ListingCache.of(index, table.relation.partitionSchema) { files =>
      if (files >= ManyFiles) openIndexes(table)
    }

  /** If files are fewer, listing them takes no longer than an additional request. */
  private val ManyFiles = 10000

  private def openIndexes(table: PlannedFiles): Unit = {
    val indexed = new IndexedTable(table, SQLConf.get)
    PlannerClient.openAhead(indexed.openIndexes)
  }

  private def checked(table: PlannedFiles, listed: Listing): Listing =
    StaleFileCheck.in(listed, table.relation)

  /** The partitions that match. If a filter raises for some partition, all of them, so that the
    * error comes from Spark's own evaluation, as for other relations.
    */
  private def partitionsOf(
      catalog: CatalogFileIndex,
      filters: Seq[Expression]
  ): PartitioningAwareFileIndex =
    try catalog.filterPartitions(filters)
    catch { case NonFatal(_) if filters.nonEmpty => catalog.filterPartitions(Nil) }
}
