package io.tamis.planning

import io.tamis.wire.RowGroups
import java.util
import java.util.BitSet

/** The bytes that are read from the files of a listing that are not read whole.
  *
  * One entry per row group, ordered by file and start: bytes `starts(i)` to `starts(i) +
  * lengths(i)` of file `files(i)`. Spark reads the row groups whose midpoint lies in a split. Each
  * entry contains the midpoint of its row group and of no other, so an entry must not be cut.
  * Entries that touch may be joined.
  */
final class FileRanges private (
    private val files: Array[Int],
    private val starts: Array[Long],
    private val lengths: Array[Long]
) {
  def isEmpty: Boolean = files.isEmpty

  /** How many bytes of these files are not read.
    *
    * @param sizeOf
    *   the size of a file, by ordinal
    */
  def bytesLeftOut(sizeOf: Int => Long): Long = {
    var sum = 0L
    var i = 0
    while (i < files.length) {
      if (i == 0 || files(i) != files(i - 1)) sum += sizeOf(files(i))
      sum -= lengths(i)
      i += 1
    }
    sum
  }

  /** Starts and lengths of what is read from a file, where entries that touch are joined up to
    * `maxBytes`. None: the file has no entry and is read whole.
    */
  def of(ordinal: Int, maxBytes: Long): Option[Seq[(Long, Long)]] = {
    var i = first(ordinal)
    if (i < 0) None
    else {
      val out = Seq.newBuilder[(Long, Long)]
      while (i < files.length && files(i) == ordinal) {
        val start = starts(i)
        var end = start + lengths(i)
        i += 1
        while (
          i < files.length && files(i) == ordinal && starts(i) == end &&
          end + lengths(i) - start <= maxBytes
        ) { end += lengths(i); i += 1 }
        out += start -> (end - start)
      }
      Some(out.result())
    }
  }

  def has(ordinal: Int): Boolean = first(ordinal) >= 0

  /** Calls `f` with each file that has an entry, once. */
  def foreachFile(f: Int => Unit): Unit =
    files.indices.foreach(i => if (i == 0 || files(i) != files(i - 1)) f(files(i)))

  /** What both read of the files that have an entry in both, and the entries of the other files.
    *
    * An entry stays if it overlaps one of the other ranges. If both read a row group, their entries
    * for it overlap, because both contain its midpoint, even if they spell it differently.
    */
  def and(other: FileRanges): FileRanges =
    if (isEmpty) other
    else if (other.isEmpty) this
    else {
      val own = files.indices.filter(i => !other.has(files(i)) || other.overlaps(this, i))
      val added = other.files.indices.filterNot(i => has(other.files(i)))
      val entries = (own.map(entry) ++ added.map(other.entry)).sorted
      new FileRanges(
        entries.map(_._1).toArray,
        entries.map(_._2).toArray,
        entries.map(_._3).toArray
      )
    }

  private def entry(i: Int): (Int, Long, Long) = (files(i), starts(i), lengths(i))

  /** Whether an entry here overlaps entry k of other ranges. */
  private def overlaps(of: FileRanges, k: Int): Boolean = {
    val ordinal = of.files(k)
    var i = first(ordinal)
    var found = false
    while (!found && i >= 0 && i < files.length && files(i) == ordinal) {
      found = starts(i) < of.starts(k) + of.lengths(k) && of.starts(k) < starts(i) + lengths(i)
      i += 1
    }
    found
  }

  /** The entries of the files that are kept. */
  def where(kept: BitSet): FileRanges =
    if (files.forall(kept.get)) this
    else {
      val chosen = files.indices.filter(i => kept.get(files(i))).toArray
      new FileRanges(chosen.map(files(_)), chosen.map(starts(_)), chosen.map(lengths(_)))
    }

  /** The index of the first entry of a file, or -1. */
  private def first(ordinal: Int): Int = {
    var i = util.Arrays.binarySearch(files, ordinal)
    while (i > 0 && files(i - 1) == ordinal) i -= 1
    math.max(i, -1)
  }

  override def equals(other: Any): Boolean = other match {
    case r: FileRanges =>
      util.Arrays.equals(files, r.files) && util.Arrays.equals(starts, r.starts) &&
      util.Arrays.equals(lengths, r.lengths)
    case _ => false
  }
  override def hashCode(): Int = util.Arrays.hashCode(files) * 31 + util.Arrays.hashCode(starts)
}

object FileRanges {
  val none: FileRanges = new FileRanges(Array.empty, Array.empty, Array.empty)

  /** The ranges of an answer; `Messages` has checked their order. */
  def of(answer: RowGroups): FileRanges =
    new FileRanges(answer.files, answer.starts, answer.lengths)
}
