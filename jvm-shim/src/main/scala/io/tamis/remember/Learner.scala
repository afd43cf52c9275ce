package io.tamis.remember

import io.tamis.planning.{Decision, PlannedFiles}
import java.util.BitSet
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.datasources.FilePartition

/** Learns from one scan in which of its files and row groups no row passes the filter directly
  * above it.
  *
  * @param files
  *   the table, on the driver only
  * @param decision
  *   of the scan, on the driver only
  * @param predicates
  *   the conjuncts without which a row of these files could not have been dropped
  * @param partitions
  *   the tasks of the scan, on the driver only: planned once, because outcomes have their numbers
  */
final class Learner private (
    id: Long,
    outcomes: SplitOutcomes,
    @transient val files: PlannedFiles,
    @transient val decision: Decision,
    @transient val predicates: PredicateSet,
    @transient private[tamis] val partitions: Seq[FilePartition]
) extends Serializable {

  /** Milliseconds since 1970 before the first file is read. */
  @transient val started: Long = System.currentTimeMillis()
  @transient private var reported = Learnt.nothing

  // ---- in tasks ----

  private[remember] def hits(): TaskHits = TaskHits.of(id)

  /** Called by generated code. */
  def observed(): TaskHits = hits().observe()

  private[remember] def noted(partition: Int, file: Int, outcome: SplitOutcome): Unit =
    outcomes.add(partition -> PartitionOutcome.of(file, outcome))

  // ---- on the driver ----

  /** What has been learnt since the last call. */
  private[remember] def take(): Learnt = synchronized {
    val (files, rows) = (new BitSet, Map.newBuilder[Int, RowRanges])
    val found = Splits.withoutHit(partitions, outcomes.value)
    if (found.nonEmpty) decision.kept.foreach { i =>
      found.get(decision.kept.listing.files.uri(i)).foreach {
        case WholeFile      => files.set(i)
        case SomeRows(some) => rows += i -> some
      }
    }
    val all = Learnt(files, rows.result())
    val since = all.without(reported)
    reported = all
    since
  }
}

/** What a scan has learnt about the files of its listing, by ordinal.
  *
  * @param files
  *   those in which no row passes
  * @param rows
  *   rows of other files that do not pass
  */
private[remember] final case class Learnt(files: BitSet, rows: Map[Int, RowRanges]) {
  def isEmpty: Boolean = files.isEmpty && rows.isEmpty

  /** What is not part of what was known before. */
  def without(before: Learnt): Learnt = {
    val left = files.clone().asInstanceOf[BitSet]
    left.andNot(before.files)
    Learnt(left, rows.filterNot { case (i, some) => before.rows.get(i).contains(some) })
  }
}

private object Learnt {
  val nothing: Learnt = Learnt(new BitSet, Map.empty)
}

object Learner {
  private val ids = new AtomicLong

  def start(
      context: SparkContext,
      files: PlannedFiles,
      decision: Decision,
      predicates: PredicateSet,
      partitions: Seq[FilePartition]
  ): Learner = {
    val outcomes = new SplitOutcomes
    context.register(outcomes)
    new Learner(ids.incrementAndGet(), outcomes, files, decision, predicates, partitions)
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

  /** The part of each file in which no row passes, by URL-encoded URI. */
  def withoutHit(
      partitions: Seq[FilePartition],
      outcomes: Map[Int, PartitionOutcome]
  ): Map[String, WithoutHit] = {
    val byFile = mutable.HashMap.empty[String, FileOutcome]
    partitions.foreach { partition =>
      val outcome = outcomes.get(partition.index)
      partition.files.indices.foreach { i =>
        val file = byFile.getOrElseUpdate(partition.files(i).urlEncodedPath, new FileOutcome)
        outcome match {
          case None    => file.isEnded = false
          case Some(o) => file.add(o.ended.get(i), o.hit.get(i), o.rows.get(i))
        }
      }
    }
    byFile.iterator.flatMap { case (uri, file) => file.withoutHit.map(uri -> _) }.toMap
  }
}

/** In which part of a file no row passes. */
private sealed trait WithoutHit
private case object WholeFile extends WithoutHit
private final case class SomeRows(rows: RowRanges) extends WithoutHit

/** What is known of the splits of a file so far.
  *
  * The splits of a file together hold all rows that can pass: statistics, and what was learnt about
  * conjuncts of the scan before, rule out the others. So if all splits were read to their end, a
  * row that passes lies in a row group with a hit. Otherwise only row groups that were read are
  * known.
  */
private final class FileOutcome {
  var isEnded: Boolean = true
  private var isHit = false
  private var areHitsKnown = true
  private var rows: Option[SplitRows] = None

  def add(ended: Boolean, hit: Boolean, some: Option[SplitRows]): Unit = {
    isEnded &&= ended
    isHit ||= hit
    // the row groups of an attempt that was stopped are not all row groups with a hit
    areHitsKnown &&= !hit || some.exists(_.isWhole)
    rows = (rows ++ some).reduceOption(_ or _)
  }

  def withoutHit: Option[WithoutHit] =
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
