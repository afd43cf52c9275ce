package io.tamis.planning

import io.tamis.listing.Listing
import io.tamis.wire.RowGroups
import java.util.BitSet

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FileStatusWithMetadata, PartitionDirectory}
import org.apache.spark.sql.types.StructType

class FileSelectionSuite extends munit.FunSuite {
  private def nameOf(file: FileStatusWithMetadata): String =
    Listing.uriOf(file).split('/').last

  private val schema = StructType.fromDDL("p INT")

  private def file(path: String, size: Long = 10, time: Long = 1) =
    FileStatusWithMetadata(new FileStatus(size, false, 1, 1, time, new Path(path)))

  private def listing(time: Long = 1) = Listing.of(
    Seq(
      PartitionDirectory(
        InternalRow(1),
        Seq(file("file:/t/p=1/a b"), file("file:/t/p=1/c", time = time))
      ),
      PartitionDirectory(InternalRow(2), Seq(file("file:/t/p=2/a b"))),
      PartitionDirectory(
        InternalRow(3),
        Seq(file("file:/t/x/d"), file("file:/t/y/e"), file("file:/t/x/f"))
      )
    ),
    schema
  )

  private def kept(listing: Listing, ordinals: Int*): FileSelection = {
    val bits = new BitSet()
    ordinals.foreach(bits.set)
    FileSelection.of(listing, bits)
  }

  test("each directory is a group with its values, and a partition may have several directories") {
    val l = listing()
    assertEquals(
      l.groups.map(_.directory).toSeq,
      Seq("file:/t/p=1", "file:/t/p=2", "file:/t/x", "file:/t/y")
    )
    assertEquals(l.groupOf.toSeq, Seq(0, 0, 1, 2, 3, 2))
    assertEquals(l.nameOf(0), "a%20b")
  }

  test("a directory whose name is a prefix of the next one is a separate directory") {
    val l = Listing.of(
      Seq(
        PartitionDirectory(
          InternalRow(1),
          Seq(file("file:/t/p=1/a"), file("file:/t/p=11/a"), file("file:/t/p=1/b"))
        )
      ),
      schema
    )
    assertEquals(l.groupOf.toSeq, Seq(0, 1, 0))
  }

  test("every URI of a directory gets the same spelling") {
    val spellings = Seq("file:///t/p=1", "file:/t/p=1", "file:/t/p=1/")
    assertEquals(spellings.map(Listing.canonical).distinct, Seq("file:/t/p=1"))
    assertEquals(Listing.canonical("hdfs://name:9/t"), "hdfs://name:9/t")
  }

  test("surviving files keep their order and their partition values") {
    val some = kept(listing(), 1, 2, 4)
    assertEquals(
      some.directories.map(d => (d.values.getInt(0), d.files.map(nameOf))),
      Seq((1, Seq("c")), (2, Seq("a%20b")), (3, Seq("e")))
    )
    assertEquals(some.bytes, 30L)
  }

  test("a subset may be empty or complete") {
    assertEquals(kept(listing()).directories, Nil)
    val l = listing()
    assert(FileSelection.all(l).directories eq l.directories)
    assertEquals(FileSelection.all(Listing.empty).directories, Nil)
  }

  test("whereGroup keeps only the files of groups that pass") {
    val l = listing()
    assertEquals(
      FileSelection.all(l).whereGroup(Array(false, true, true, false)).files.map(nameOf),
      Seq("a%20b", "d", "f")
    )
  }

  private def ranges(all: (Int, Long, Long)*) = FileRanges.of(
    RowGroups(all.map(_._1).toArray, all.map(_._2).toArray, all.map(_._3).toArray, None, None)
  )

  private def partly(l: Listing, ordinals: Seq[Int], some: FileRanges) = {
    val bits = new BitSet()
    ordinals.foreach(bits.set)
    FileSelection.of(l, bits, some)
  }
  private def partly(ordinals: Seq[Int], some: FileRanges, time: Long = 1): FileSelection =
    partly(listing(time), ordinals, some)

  test("ranges that touch are joined up to the maximum size") {
    val r = ranges((1, 4, 10), (1, 14, 10), (1, 24, 10), (1, 40, 5), (3, 4, 9))
    assertEquals(r.of(0, 100), None)
    assertEquals(r.of(2, 100), None)
    assertEquals(r.of(3, 1), Some(Seq(4L -> 9L)))
    assertEquals(r.of(1, 1), Some(Seq(4L -> 10L, 14L -> 10L, 24L -> 10L, 40L -> 5L)))
    assertEquals(r.of(1, 20), Some(Seq(4L -> 20L, 24L -> 10L, 40L -> 5L)))
    assertEquals(r.of(1, 100), Some(Seq(4L -> 30L, 40L -> 5L)))
    assertEquals(r.bytesLeftOut(i => 100L * i), 100L - 35 + 300 - 9)
    assertEquals(FileRanges.none.bytesLeftOut(_ => 1L), 0L)
  }

  test("partly kept files count the bytes that are read, in every subset") {
    val some = partly(Seq(0, 1, 4), ranges((1, 0, 2), (1, 5, 1), (4, 2, 3)))
    assertEquals(some.bytes, 10L + 3 + 3)
    val fewer = some.whereGroup(Array(true, true, true, false))
    assertEquals(fewer.bytes, 10L + 3)
    assertEquals(fewer.ranges, ranges((1, 0, 2), (1, 5, 1)))
    assertEquals(some.and(FileSelection.all(some.listing)).ranges, some.ranges)
    assertEquals(partly(Seq(0), ranges((1, 0, 2))).ranges, FileRanges.none)
    assertEquals(some.files.map(nameOf), Seq("a%20b", "c", "e"))
  }

  test("files are added as another subset keeps them, and not at all if it does not") {
    val l = listing()
    val from = partly(l, Seq(0, 1, 2, 4), ranges((1, 0, 4), (2, 0, 3), (4, 0, 5)))
    val some = partly(l, Seq(2, 4), ranges((2, 1, 1), (4, 0, 2)))
    val sum = some.or(from, partly(l, Seq(0, 1, 2, 5), FileRanges.none))
    assertEquals(sum.ordinals.stream.toArray.toSeq, Seq(0, 1, 2, 4))
    assertEquals(sum.ranges, ranges((1, 0, 4), (2, 0, 3), (4, 0, 2)))
    assertEquals(some.or(from, kept(l)), some)
  }

  test("what both keep of a file is what overlaps, in any spelling") {
    val table = Seq(
      // one selection, the other one, both
      (ranges((1, 0, 4), (1, 6, 2)), ranges((1, 6, 2), (1, 8, 2)), ranges((1, 6, 2))),
      (ranges((1, 0, 4), (1, 6, 2)), ranges((1, 1, 2), (1, 9, 1)), ranges((1, 0, 4))),
      (ranges((1, 0, 4)), ranges((1, 3, 4)), ranges((1, 0, 4))),
      (ranges((1, 3, 4)), ranges((1, 0, 4)), ranges((1, 3, 4))),
      // one of them keeps the file whole
      (ranges((1, 0, 4)), FileRanges.none, ranges((1, 0, 4))),
      (FileRanges.none, ranges((4, 0, 4)), ranges((4, 0, 4))),
      (ranges((4, 0, 4)), ranges((0, 1, 2), (1, 0, 4)), ranges((0, 1, 2), (1, 0, 4), (4, 0, 4)))
    )
    val l = listing()
    table.foreach { case (a, b, both) =>
      val found = partly(l, Seq(0, 1, 4), a).and(partly(l, Seq(0, 1, 4), b))
      assertEquals(found.ranges, both)
      assertEquals(found.files.map(nameOf), Seq("a%20b", "c", "e"))
    }
  }

  test("nothing is left of a file of which two selections keep different parts") {
    val l = listing()
    def some(r: FileRanges) = partly(l, Seq(0, 1, 4), r)
    val one = some(ranges((1, 0, 4), (4, 0, 4)))
    // entries that only touch hold no row group in common
    assertEquals(one.and(some(ranges((1, 4, 4)))), partly(l, Seq(0, 4), ranges((4, 0, 4))))
    assertEquals(one.and(some(ranges((1, 5, 4), (4, 4, 1)))).files.map(nameOf), Seq("a%20b"))
  }

  test("a part of a file does not equal the whole file or another part") {
    val one = partly(Seq(1), ranges((1, 0, 2)))
    assertEquals(one, partly(Seq(1), ranges((1, 0, 2))))
    assertNotEquals(one, partly(Seq(1), ranges((1, 0, 3))))
    assertNotEquals(one, partly(Seq(1), ranges((1, 1, 2))))
    assertNotEquals(one, partly(Seq(1), FileRanges.none))
    assertNotEquals(one, partly(Seq(1), ranges((1, 0, 2)), time = 2))
  }

  test("subsets are equal if they keep the same files of equal listings") {
    assertEquals(kept(listing(), 1, 2), kept(listing(), 1, 2))
    assertNotEquals(kept(listing(), 1, 2), kept(listing(), 1))
    assertNotEquals(kept(listing(), 1, 2), kept(listing(time = 2), 1, 2))
  }

  test("the fingerprint depends on sizes, times, names, values and order") {
    def of(files: (String, Long, Long)*) =
      Listing
        .of(
          Seq(PartitionDirectory(InternalRow(1), files.map { case (p, s, t) => file(p, s, t) })),
          schema
        )
        .fingerprint
    val different = Seq(
      of(("file:/t/a", 1, 1), ("file:/t/b", 1, 1)),
      of(("file:/t/b", 1, 1), ("file:/t/a", 1, 1)),
      of(("file:/t/a", 2, 1), ("file:/t/b", 1, 1)),
      of(("file:/t/a", 1, 2), ("file:/t/b", 1, 1)),
      of(("file:/u/a", 1, 1), ("file:/u/b", 1, 1)),
      of(("file:/t/a", 1, 1)),
      of(),
      Listing
        .of(Seq(PartitionDirectory(InternalRow(2), Seq(file("file:/t/a", 1, 1)))), schema)
        .fingerprint,
      Listing
        .of(Seq(PartitionDirectory(InternalRow(null), Seq(file("file:/t/a", 1, 1)))), schema)
        .fingerprint
    )
    assertEquals(different.distinct.size, different.size)
    assertEquals(of(("file:/t/a", 1, 1)), of(("file:/t/a", 1, 1)))
  }

  test("an answer with more files than the listing is rejected") {
    intercept[IllegalArgumentException](kept(listing(), 6))
  }

  test("an order is known of the files that it names, and of no others") {
    val files = listing()
    def order(known: Option[FileSelection]) =
      FileOrder(Seq(SortedColumn("a", isDescending = false)), known, Map.empty)
    val some = order(Some(kept(files, 0, 1, 4)))
    assert(some.covers(kept(files, 0, 4)))
    assert(some.covers(kept(files, 0, 1, 4)))
    assert(!some.covers(kept(files, 0, 2)))
    assert(!some.covers(kept(listing(), 0, 1)))
    assert(order(None).covers(kept(files, 0, 2)))
  }
}
