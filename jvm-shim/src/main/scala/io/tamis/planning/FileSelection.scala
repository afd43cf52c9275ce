package io.tamis.planning

import io.tamis.listing.Listing
import java.util.BitSet

import scala.collection.immutable.ArraySeq
import scala.collection.mutable

import org.apache.spark.sql.execution.datasources.{FileStatusWithMetadata, PartitionDirectory}

/** A subset of the files of one listing, where some files may be kept only in part. */
final class FileSelection private (
    val listing: Listing,
    private val bits: BitSet,
    val ranges: FileRanges
) {
  val count: Int = bits.cardinality()
  def isAll: Boolean = count == listing.size
  def contains(ordinal: Int): Boolean = bits.get(ordinal)

  /** Whether the other selection of the same listing has all these files. */
  def isWithin(other: FileSelection): Boolean = {
    val missing = ordinals
    missing.andNot(other.bits)
    missing.isEmpty
  }
  def ordinals: BitSet = bits.clone().asInstanceOf[BitSet]

  lazy val bytes: Long =
    wholeBytes - ranges.bytesLeftOut(listing.files.bytes(_))

  private def wholeBytes: Long =
    if (isAll) listing.totalBytes else bits.stream.mapToLong(listing.files.bytes(_)).sum

  /** The surviving files in listing order. */
  def files: Seq[FileStatusWithMetadata] =
    if (isAll) listing.files
    else
      ArraySeq.unsafeWrapArray(
        bits.stream
          .mapToObj(listing.files(_))
          .toArray((n: Int) => new Array[FileStatusWithMetadata](n))
      )

  def foreach(f: Int => Unit): Unit = bits.stream.forEachOrdered(f(_))

  /** What both keep. */
  def and(other: FileSelection): FileSelection = {
    require(listing eq other.listing, "the two subsets belong to different listings")
    val both = bits.clone().asInstanceOf[BitSet]
    both.and(other.bits)
    val shared = ranges.and(other.ranges)
    // a file is left out if they keep parts of it that have nothing in common
    ranges.foreachFile(i => if (other.ranges.has(i) && !shared.has(i)) both.clear(i))
    new FileSelection(listing, both, shared.where(both))
  }

  /** Adds those of these files that `from` keeps, as it keeps them. */
  def or(from: FileSelection, files: FileSelection): FileSelection = {
    require(
      (listing eq from.listing) && (listing eq files.listing),
      "the subsets belong to different listings"
    )
    val added = from.ordinals
    added.and(files.bits)
    val others = ordinals
    others.andNot(added)
    val both = ordinals
    both.or(added)
    new FileSelection(listing, both, ranges.where(others).and(from.ranges.where(added)))
  }

  /** Keeps the files whose group passes; there are few groups and many files. */
  def whereGroup(passes: Array[Boolean]): FileSelection = {
    val some = new BitSet(listing.size)
    foreach(i => if (passes(listing.groupOf(i))) some.set(i))
    new FileSelection(listing, some, ranges.where(some))
  }

  /** The surviving files in the form of Spark's file index interface, in listing order. Touches
    * only survivors.
    */
  lazy val directories: Seq[PartitionDirectory] =
    if (isAll) listing.directories
    else {
      val out = mutable.ArrayBuffer.empty[PartitionDirectory]
      var group = -1
      var files = mutable.ArrayBuffer.empty[FileStatusWithMetadata]
      def flush(): Unit = if (files.nonEmpty) {
        out += PartitionDirectory(listing.groups(group).values, files.toSeq)
        files = mutable.ArrayBuffer.empty
      }
      foreach { i =>
        if (listing.groupOf(i) != group) { flush(); group = listing.groupOf(i) }
        files += listing.files(i)
      }
      flush()
      out.toSeq
    }

  /** Equal if the same bytes of the same files of an equal listing are kept: then two scans read
    * the same rows.
    */
  override def equals(other: Any): Boolean = other match {
    case k: FileSelection =>
      bits == k.bits && ranges == k.ranges &&
      ((listing eq k.listing) || listing.fingerprint == k.listing.fingerprint)
    case _ => false
  }
  override def hashCode(): Int = bits.hashCode()
}

object FileSelection {
  def all(listing: Listing): FileSelection = {
    val bits = new BitSet(listing.size)
    bits.set(0, listing.size)
    new FileSelection(listing, bits, FileRanges.none)
  }

  def of(listing: Listing, bits: BitSet, ranges: FileRanges = FileRanges.none): FileSelection = {
    require(
      bits.length <= listing.size,
      s"${bits.length} files in the answer, ${listing.size} in the listing"
    )
    new FileSelection(listing, bits, ranges.where(bits))
  }
}
