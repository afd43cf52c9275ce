package io.tamis.remember

import java.util.BitSet
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.util.AccumulatorV2

/** What a task has found in a split of a file.
  *
  * @param isEnded
  *   whether it was read to its end
  * @param isHit
  *   whether a row passed the filter. False also if that is not known of a split that was not read
  *   to its end.
  * @param isFull
  *   whether it is a whole file, and all of its rows passed. False also if that is not known.
  * @param rows
  *   None: not known by row group
  * @param values
  *   of the rows that passed the filter; None: not known, or no row passed it
  */
final case class SplitOutcome(
    isEnded: Boolean,
    isHit: Boolean,
    isFull: Boolean,
    rows: Option[SplitRows],
    values: Option[ValueRanges] = None
)

/** The rows of the row groups of a split that were read to their end.
  *
  * @param isWhole
  *   whether all rows that passed are in `withHit`, because the split was read to its end
  * @param withHit
  *   row groups in which a row passed
  * @param withoutHit
  *   row groups that were read, and in which no row passed
  * @param full
  *   row groups in which every row passed
  * @param lastRow
  *   the end of the last row group of the split, as far as is known
  */
final case class SplitRows(
    isWhole: Boolean,
    withHit: RowRanges,
    withoutHit: RowRanges,
    full: RowRanges,
    lastRow: Long
) {
  def or(other: SplitRows): SplitRows = SplitRows(
    isWhole || other.isWhole,
    withHit or other.withHit,
    withoutHit or other.withoutHit,
    full or other.full,
    math.max(lastRow, other.lastRow)
  )
}

/** What tasks that succeeded have found in the splits of one partition of a scan.
  *
  * @param ended
  *   the positions, in the partition, of the splits that were read to their end
  * @param hit
  *   those of them in which a row passed the filter
  * @param full
  *   those of them that are whole files whose rows all passed
  * @param rows
  *   by position, what is known of row groups
  * @param values
  *   by position, the values of all rows of the split that passed the filter
  */
final case class PartitionOutcome(
    ended: BitSet,
    hit: BitSet,
    full: BitSet,
    rows: Map[Int, SplitRows],
    values: Map[Int, ValueRanges]
) {
  def or(other: PartitionOutcome): PartitionOutcome = PartitionOutcome(
    union(ended, other.ended),
    union(hit, other.hit),
    union(full, other.full),
    other.rows.foldLeft(rows) { case (all, (position, r)) =>
      all.updated(position, all.get(position).fold(r)(_ or r))
    },
    values ++ other.values // each attempt that knows them has seen all rows that pass
  )

  private def union(a: BitSet, b: BitSet): BitSet = {
    val both = a.clone().asInstanceOf[BitSet]
    both.or(b)
    both
  }
}

object PartitionOutcome {

  /** Of splits, by their positions in the partition. */
  def of(splits: Iterable[(Int, SplitOutcome)]): PartitionOutcome = {
    val (ended, hit, full) = (new BitSet, new BitSet, new BitSet)
    val rows = Map.newBuilder[Int, SplitRows]
    val values = Map.newBuilder[Int, ValueRanges]
    splits.foreach { case (position, split) =>
      ended.set(position, split.isEnded)
      hit.set(position, split.isHit)
      full.set(position, split.isFull)
      split.rows.foreach(rows += position -> _)
      split.values.foreach(values += position -> _)
    }
    PartitionOutcome(ended, hit, full, rows.result(), values.result())
  }
}

/** Collects the outcomes by partition. Spark adds only what tasks that succeeded have found. It may
  * add the outcome of a task twice, if a stage runs again or a duplicate of the task succeeds; that
  * changes nothing, because outcomes are united. Thread-safe: Spark reads it during the task, too.
  */
final class SplitOutcomes
    extends AccumulatorV2[(Int, PartitionOutcome), Map[Int, PartitionOutcome]] {
  private val byPartition = new ConcurrentHashMap[Int, PartitionOutcome]()

  override def isZero: Boolean = byPartition.isEmpty
  override def reset(): Unit = byPartition.clear()
  override def copy(): SplitOutcomes = {
    val copied = new SplitOutcomes
    copied.merge(this)
    copied
  }
  override def add(outcome: (Int, PartitionOutcome)): Unit =
    byPartition.merge(outcome._1, outcome._2, _ or _): Unit
  override def merge(
      other: AccumulatorV2[(Int, PartitionOutcome), Map[Int, PartitionOutcome]]
  ): Unit = other.value.foreach(add)
  override def value: Map[Int, PartitionOutcome] = byPartition.asScala.toMap
}
