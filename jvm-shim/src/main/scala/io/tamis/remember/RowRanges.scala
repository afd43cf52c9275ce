package io.tamis.remember

import scala.collection.mutable

/** Rows of a file, numbered from 0 in the order of the file, or bytes: half-open ranges in
  * ascending order that do not touch each other.
  *
  * @param edges
  *   start and stop of each range
  */
final class RowRanges private (private val edges: Array[Long]) extends Serializable {
  def isEmpty: Boolean = edges.isEmpty
  def size: Int = edges.length / 2

  /** Starts and stops. */
  def pairs: Seq[(Long, Long)] = edges.toSeq.grouped(2).map(e => e(0) -> e(1)).toSeq

  def or(other: RowRanges): RowRanges =
    if (other.isEmpty) this
    else if (isEmpty) other
    else RowRanges.of(pairs ++ other.pairs)

  /** The other rows before `stop`. */
  def others(stop: Long): RowRanges =
    RowRanges.of(
      (0L +: edges.toSeq :+ stop).grouped(2).map(e => e(0) -> math.min(e(1), stop)).toSeq
    )

  def without(other: RowRanges): RowRanges =
    if (isEmpty || other.isEmpty) this
    else (others(edges.last) or other).others(edges.last)

  override def equals(other: Any): Boolean = other match {
    case r: RowRanges => java.util.Arrays.equals(edges, r.edges)
    case _            => false
  }
  override def hashCode(): Int = java.util.Arrays.hashCode(edges)
  override def toString: String = pairs.map { case (a, b) => s"$a until $b" }.mkString(", ")
}

object RowRanges {
  val none: RowRanges = new RowRanges(Array.empty)

  /** The rows of these ranges, given by start and stop. Those without a row are left out. */
  def of(ranges: Seq[(Long, Long)]): RowRanges = {
    val edges = mutable.ArrayBuffer.empty[Long]
    ranges.filter(r => r._1 < r._2).sorted.foreach { case (start, stop) =>
      if (edges.isEmpty || edges.last < start) edges += start += stop
      else edges(edges.length - 1) = math.max(edges.last, stop)
    }
    if (edges.isEmpty) none else new RowRanges(edges.toArray)
  }
}
