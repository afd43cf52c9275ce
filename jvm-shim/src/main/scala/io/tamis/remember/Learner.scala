package io.tamis.remember

import com.fasterxml.jackson.databind.node.ObjectNode
import io.tamis.listing.StaleFileCheck
import io.tamis.planning.{Decision, PlannedFiles}
import java.util.BitSet
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.internal.SQLConf

/** Learns from one scan in which of its files and row groups no row, or every row, passes the
  * filter directly above it.
  *
  * @param files
  *   the table, on the driver only
  * @param decision
  *   of the scan, on the driver only
  * @param predicates
  *   the conjuncts without which a row of these files could not have been dropped
  * @param filtered
  *   the conjuncts of the filter. Each of them is true for a row that passes.
  * @param partitions
  *   the tasks of the scan, on the driver only: planned once, because outcomes have their numbers
  * @param columns
  *   the documents of the columns whose values are noted, on the driver only
  * @param settings
  *   for which the plan was made, see [[PredicateKeys.ofTasks]]
  */
final class Learner private (
    id: Long,
    outcomes: SplitOutcomes,
    @transient val files: PlannedFiles,
    @transient val decision: Decision,
    @transient val predicates: PredicateSet,
    @transient val filtered: PredicateSet,
    @transient private[tamis] val partitions: Seq[FilePartition],
    @transient private[remember] val columns: Seq[ObjectNode],
    settings: Map[String, String]
) extends Serializable {
  private val numColumns = columns.size

  /** Milliseconds since 1970 before the first file is read. */
  @transient val started: Long = System.currentTimeMillis()
  @transient private var reported = Learnt.nothing

  private val mayChange = !files.isOfFormat
  @volatile private var isCodeAsPlanned = true

  /** Called on the driver where the code of the plan is made: it may keep settings of that time. */
  private[remember] def whenCoded(): Learner = {
    isCodeAsPlanned &&= hasSettings
    this
  }

  private def hasSettings: Boolean = PredicateKeys.ofTasks(SQLConf.get) == settings

  // ---- in tasks ----

  /** Whether this task runs under the settings for which the plan was made. */
  private[remember] def isAsPlanned: Boolean = isCodeAsPlanned && hasSettings

  /** Whether a file is still the one that was listed, where that is cheap. It may have been
    * replaced since, and may come back. Table formats never change a file.
    */
  private[remember] def isAsListed(split: PartitionedFile): Boolean =
    !mayChange || StaleFileCheck.isAsListed(split)

  private[remember] def hits(): TaskHits = TaskHits.of(id, numColumns)

  /** Called by generated code. */
  def observed(): TaskHits = hits().observe()

  private[remember] def noted(partition: Int, splits: Iterable[(Int, SplitOutcome)]): Unit =
    if (splits.nonEmpty) outcomes.add(partition -> PartitionOutcome.of(splits))

  // ---- on the driver ----

  /** What has been learnt since the last call. */
  private[remember] def take(): Learnt = synchronized {
    val found = Splits.found(partitions, outcomes.value)
    val byFile =
      if (found.isEmpty) Nil
      else {
        val each = Seq.newBuilder[(Int, FoundInFile)]
        val uriOf = decision.kept.listing.files.uri _
        decision.kept.foreach(i => found.get(uriOf(i)).foreach(each += i -> _))
        each.result()
      }
    val all = Learnt(
      PartsOfFiles.of(byFile.flatMap { case (i, f) => f.withoutHit.map(i -> _) }),
      PartsOfFiles.of(byFile.flatMap { case (i, f) => f.full.map(i -> _) }),
      byFile.flatMap { case (i, f) => f.values.map(i -> _) }.toMap
    )
    val since = all.without(reported)
    reported = all
    since
  }
}

/** What a scan has learnt about the files of its listing.
  *
  * @param withoutHit
  *   rows that do not pass
  * @param full
  *   rows that pass
  * @param values
  *   of the rows of other files that pass
  */
private[remember] final case class Learnt(
    withoutHit: PartsOfFiles,
    full: PartsOfFiles,
    values: Map[Int, ValueRanges] = Map.empty
) {
  def isEmpty: Boolean = withoutHit.isEmpty && full.isEmpty && values.isEmpty

  /** What is not part of what was known before. */
  def without(before: Learnt): Learnt = Learnt(
    withoutHit.without(before.withoutHit),
    full.without(before.full),
    values -- before.values.keys // of all rows that pass, so that they do not change
  )
}

private object Learnt {
  val nothing: Learnt = Learnt(PartsOfFiles.none, PartsOfFiles.none)
}

/** Rows of files, by the ordinals of the files.
  *
  * @param files
  *   files with all of their rows
  * @param rows
  *   of other files
  */
private[remember] final case class PartsOfFiles(files: BitSet, rows: Map[Int, RowRanges]) {
  def isEmpty: Boolean = files.isEmpty && rows.isEmpty

  def without(before: PartsOfFiles): PartsOfFiles = {
    val left = files.clone().asInstanceOf[BitSet]
    left.andNot(before.files)
    PartsOfFiles(left, rows.filterNot { case (i, some) => before.rows.get(i).contains(some) })
  }
}

private[remember] object PartsOfFiles {
  val none: PartsOfFiles = PartsOfFiles(new BitSet, Map.empty)

  def of(parts: Seq[(Int, PartOfFile)]): PartsOfFiles = {
    val files = new BitSet
    val rows = parts.flatMap {
      case (i, WholeFile)      => files.set(i); None
      case (i, SomeRows(some)) => Some(i -> some)
    }
    PartsOfFiles(files, rows.toMap)
  }
}

object Learner {
  private val ids = new AtomicLong

  def start(
      context: SparkContext,
      files: PlannedFiles,
      decision: Decision,
      predicates: PredicateSet,
      filtered: PredicateSet,
      partitions: Seq[FilePartition],
      columns: Seq[ObjectNode]
  ): Learner = {
    val outcomes = new SplitOutcomes
    context.register(outcomes)
    val id = ids.incrementAndGet()
    val settings = PredicateKeys.ofTasks(SQLConf.get)
    new Learner(id, outcomes, files, decision, predicates, filtered, partitions, columns, settings)
  }
}

/** The splits of files that the tasks of a scan read. */
private object Splits {

  /** The tasks of a scan; None if some are of another kind, or two have the same number. */
  def of(partitions: Seq[InputPartition]): Option[Seq[FilePartition]] = {
    val files = partitions.collect { case p: FilePartition => p }
    Option.when(
      files.size == partitions.size && files.map(_.index).distinct.size == files.size
    )(files)
  }

  /** What is known of each file, by URL-encoded URI. */
  def found(
      partitions: Seq[FilePartition],
      outcomes: Map[Int, PartitionOutcome]
  ): Map[String, FoundInFile] = {
    val byFile = mutable.HashMap.empty[String, FileOutcome]
    partitions.foreach { partition =>
      val outcome = outcomes.get(partition.index)
      partition.files.indices.foreach { i =>
        val split = partition.files(i)
        val file = byFile.getOrElseUpdate(split.urlEncodedPath, new FileOutcome(split.fileSize))
        outcome match {
          case None    => file.isEnded = false
          case Some(o) =>
            file.add(o.ended.get(i), o.hit.get(i), o.rows.get(i))
            file.addValues(o.hit.get(i), o.values.get(i))
            file.addFull(split, o.full.get(i), o.rows.isDefinedAt(i))
        }
      }
    }
    byFile.iterator.map { case (uri, file) => uri -> file.found }.filterNot(_._2.isEmpty).toMap
  }
}

private sealed trait PartOfFile
private case object WholeFile extends PartOfFile
private final case class SomeRows(rows: RowRanges) extends PartOfFile

/** In which part of a file no row passes, and in which part every row passes. None: in no part that
  * is known.
  *
  * @param values
  *   of the rows that pass; None: not known, or no other row needs them
  */
private final case class FoundInFile(
    withoutHit: Option[PartOfFile],
    full: Option[PartOfFile],
    values: Option[ValueRanges] = None
) {
  def isEmpty: Boolean = withoutHit.isEmpty && full.isEmpty && values.isEmpty
}

/** What is known of the splits of a file so far.
  *
  * The splits of a file together hold all rows that can pass: statistics, and what was learnt about
  * conjuncts of the scan before, rule out the others. So if all splits were read to their end, a
  * row that passes lies in a row group with a hit. Otherwise only row groups that were read are
  * known.
  */
private final class FileOutcome(size: Long) {
  var isEnded: Boolean = true
  private var isHit = false
  private var areHitsKnown = true
  private var rows: Option[SplitRows] = None
  private var isFull = false
  private var bytesWithRows = RowRanges.none
  private var areValuesKnown = true
  private var values: Option[ValueRanges] = None

  def add(ended: Boolean, hit: Boolean, some: Option[SplitRows]): Unit = {
    isEnded &&= ended
    isHit ||= hit
    // the row groups of an attempt that was stopped are not all row groups with a hit
    areHitsKnown &&= !hit || some.exists(_.isWhole)
    rows = (rows ++ some).reduceOption(_ or _)
  }

  /** Adds whether all rows of the file passed in a split, and the bytes of a split whose row groups
    * are known.
    */
  def addFull(split: PartitionedFile, full: Boolean, hasRows: Boolean): Unit = {
    isFull ||= full
    if (hasRows) {
      val bytes = RowRanges.of(Seq(split.start -> (split.start + split.length)))
      bytesWithRows = bytesWithRows or bytes
    }
  }

  /** Adds the values of the rows that passed in a split. */
  def addValues(hit: Boolean, some: Option[ValueRanges]): Unit = {
    areValuesKnown &&= !hit || some.isDefined
    values = (values ++ some).reduceOption(_ or _)
  }

  def found: FoundInFile = FoundInFile(withoutHit, full, passing)

  /** All rows of the file that pass lie in its splits. So if these were read to their end, no other
    * row that passes has another value. If all rows of the file pass, statistics say as much.
    */
  private def passing: Option[ValueRanges] =
    values.filter(_ => isEnded && areValuesKnown && !full.contains(WholeFile))

  private def full: Option[PartOfFile] =
    if (isFull) Some(WholeFile)
    else
      rows.filterNot(_.full.isEmpty).map { r =>
        // If the splits together are the whole file, the last row group of one of them is that of the
        // file. Their lengths alone do not show it: a query may read a file twice.
        val isWhole = bytesWithRows == RowRanges.of(Seq(0L -> size))
        if (isWhole && r.full == RowRanges.of(Seq(0L -> r.lastRow))) WholeFile
        else SomeRows(r.full)
      }

  private def withoutHit: Option[PartOfFile] =
    if (isEnded && !isHit) Some(WholeFile)
    else
      rows
        .map { r =>
          if (isEnded && areHitsKnown) r.withHit.others(r.lastRow)
          else r.withoutHit.without(r.withHit)
        }
        .filterNot(_.isEmpty)
        .map(SomeRows)
}
