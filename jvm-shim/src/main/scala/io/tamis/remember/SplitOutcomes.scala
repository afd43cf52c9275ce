package io.tamis.remember

import java.util.BitSet
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.util.AccumulatorV2

/** What tasks that succeeded have found in the splits of one partition of a scan.
  *
  * @param ended
  *   the positions, in the partition, of the splits that were read to their end
  * @param hit
  *   those of them in which a row passed the filter
  */
final case class PartitionOutcome(ended: BitSet, hit: BitSet) {
  def or(other: PartitionOutcome): PartitionOutcome =
    PartitionOutcome(union(ended, other.ended), union(hit, other.hit))

  private def union(a: BitSet, b: BitSet): BitSet = {
    val both = a.clone().asInstanceOf[BitSet]
    both.or(b)
    both
  }
}

object PartitionOutcome {
  def of(position: Int, isHit: Boolean): PartitionOutcome = {
    val (ended, hit) = (new BitSet, new BitSet)
    ended.set(position)
    if (isHit) hit.set(position)
    PartitionOutcome(ended, hit)
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
