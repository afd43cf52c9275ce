package io.tamis.remember

import io.tamis.planning.{Decision, PlannedFiles}
import java.util.BitSet
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.datasources.FilePartition

/** Learns from one scan in which of its files no row passes the filter directly above it.
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
  @transient private var reported = new BitSet

  // ---- in tasks ----

  private[remember] def hits(): TaskHits = TaskHits.of(id)

  /** Called by generated code. */
  def observed(): TaskHits = hits().observe()

  private[remember] def ended(partition: Int, file: Int, isHit: Boolean): Unit =
    outcomes.add(partition -> PartitionOutcome.of(file, isHit))

  // ---- on the driver ----

  /** The ordinals, in the listing, of the files in which no row passes; those of earlier calls are
    * left out.
    */
  private[remember] def take(): BitSet = synchronized {
    val found = new BitSet
    val without = Splits.filesWithoutHit(partitions, outcomes.value)
    if (without.nonEmpty)
      decision.kept.foreach(i => if (without(decision.kept.listing.files.uri(i))) found.set(i))
    val isNew = found.clone().asInstanceOf[BitSet]
    isNew.andNot(reported)
    reported = found
    isNew
  }
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

  /** The URL-encoded URIs of the files whose splits were all read to their end, with no hit. The
    * splits of a file together hold all rows that can pass: statistics rule out the others.
    */
  def filesWithoutHit(
      partitions: Seq[FilePartition],
      outcomes: Map[Int, PartitionOutcome]
  ): Set[String] = {
    val (read, others) = (mutable.HashSet.empty[String], mutable.HashSet.empty[String])
    partitions.foreach { partition =>
      val outcome = outcomes.get(partition.index)
      partition.files.indices.foreach { i =>
        val isWithoutHit = outcome.exists(o => o.ended.get(i) && !o.hit.get(i))
        (if (isWithoutHit) read else others) += partition.files(i).urlEncodedPath
      }
    }
    (read --= others).toSet
  }
}
