package io.tamis.remember

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

class SplitOutcomesSuite extends munit.FunSuite {
  private def split(name: String, start: Long, length: Long) =
    PartitionedFile(InternalRow.empty, SparkPath.fromUrlString(s"file:/t/$name"), start, length)

  private def partition(index: Int, files: PartitionedFile*) =
    FilePartition(index, files.toArray)

  /** `a` lies in both partitions, `b` and `c` in one. */
  private val partitions = Seq(
    partition(0, split("a", 0, 10), split("b", 0, 5)),
    partition(1, split("a", 10, 10), split("c", 0, 5))
  )

  private def ended(isHit: Boolean, rows: Option[SplitRows] = None) =
    SplitOutcome(isEnded = true, isHit, rows)
  private def rows(ranges: (Long, Long)*) = RowRanges.of(ranges)

  private def found(outcomes: (Int, Int, SplitOutcome)*): Map[String, WithoutHit] = {
    val all = new SplitOutcomes
    outcomes.foreach { case (p, i, outcome) => all.add(p -> PartitionOutcome.of(i, outcome)) }
    Splits.withoutHit(partitions, all.value).map { case (uri, what) =>
      uri.stripPrefix("file:/t/") -> what
    }
  }
  private def whole(outcomes: (Int, Int, Boolean)*): Set[String] = {
    val all = found(outcomes.map { case (p, i, isHit) => (p, i, ended(isHit)) }: _*)
    assert(all.values.forall(_ == WholeFile))
    all.keySet
  }

  test("a file counts only if all of its splits were read to their end without a hit") {
    assertEquals(whole(), Set.empty[String])
    assertEquals(whole((0, 0, false)), Set.empty[String])
    assertEquals(whole((0, 0, false), (1, 0, false)), Set("a"))
    assertEquals(whole((0, 0, false), (1, 0, true)), Set.empty[String])
    assertEquals(whole((0, 1, false), (1, 1, true)), Set("b"))
  }

  test("a hit in one attempt of a task outweighs another attempt, in any order") {
    assertEquals(whole((0, 1, true), (0, 1, false)), Set.empty[String])
    assertEquals(whole((0, 1, false), (0, 1, true)), Set.empty[String])
    assertEquals(whole((0, 1, false), (0, 1, false)), Set("b"))
  }

  private def all(hit: RowRanges, without: RowRanges, lastRow: Long) =
    Some(SplitRows(isWhole = true, hit, without, lastRow))
  private def stopped(hit: RowRanges, without: RowRanges, lastRow: Long) =
    SplitOutcome(
      isEnded = false,
      isHit = false,
      Some(SplitRows(isWhole = false, hit, without, lastRow))
    )

  test("in a file that was read to its end, no row passes outside of the row groups with a hit") {
    // the reader skipped the rows 10 to 20, and 30 to 40
    val one = ended(isHit = true, all(rows(20L -> 30L), rows(0L -> 10L), 40))
    assertEquals(
      found((0, 1, one)),
      Map[String, WithoutHit]("b" -> SomeRows(rows(0L -> 20L, 30L -> 40L)))
    )
    val first = ended(isHit = true, all(rows(0L -> 10L), rows(10L -> 20L), 20))
    val second = ended(isHit = false, all(RowRanges.none, rows(20L -> 30L), 40))
    val both = found((0, 0, first), (1, 0, second))
    assertEquals(both, Map[String, WithoutHit]("a" -> SomeRows(rows(10L -> 40L))))
  }

  test("of a file that was not read to its end, only row groups that were read are known") {
    val part = stopped(rows(0L -> 10L), rows(10L -> 20L), 40)
    val expected = Map[String, WithoutHit]("b" -> SomeRows(rows(10L -> 20L)))
    assertEquals(found((0, 1, part)), expected)
    // another split of the file is missing
    val first = ended(isHit = true, all(rows(0L -> 10L), rows(10L -> 20L), 40))
    assertEquals(found((0, 0, first)), Map[String, WithoutHit]("a" -> SomeRows(rows(10L -> 20L))))
  }

  test("a split with hits in unknown row groups leaves only the row groups that were read") {
    val unknown = ended(isHit = true)
    val second = ended(isHit = true, all(rows(20L -> 30L), rows(30L -> 40L), 40))
    val expected = Map[String, WithoutHit]("a" -> SomeRows(rows(30L -> 40L)))
    assertEquals(found((0, 0, unknown), (1, 0, second)), expected)
    assertEquals(found((0, 1, unknown)), Map.empty[String, WithoutHit])
    // an attempt that was stopped does not tell all hits of the other
    val part = stopped(RowRanges.none, rows(0L -> 10L), 40)
    assertEquals(
      found((0, 1, unknown), (0, 1, part)),
      Map[String, WithoutHit]("b" -> SomeRows(rows(0L -> 10L)))
    )
  }

  test("a row group with a hit in one attempt is not without a hit") {
    val one = stopped(RowRanges.none, rows(0L -> 20L), 40)
    val other = stopped(rows(10L -> 20L), rows(20L -> 30L), 40)
    val expected = Map[String, WithoutHit]("b" -> SomeRows(rows(0L -> 10L, 20L -> 30L)))
    assertEquals(found((0, 1, one), (0, 1, other)), expected)
  }

  test("what was learnt before is not learnt again") {
    val files = new java.util.BitSet
    files.set(3)
    val before = Learnt(files, Map(0 -> rows(0L -> 10L)))
    assert(before.without(before).isEmpty)
    val more = Learnt(files, Map(0 -> rows(0L -> 20L), 1 -> rows(0L -> 5L)))
    assertEquals(more.without(before).rows.keySet, Set(0, 1))
    assert(more.without(before).files.isEmpty)
  }

  test("merging accumulators unites what they found, and changes neither of their parts") {
    val (one, other) = (new SplitOutcomes, new SplitOutcomes)
    one.add(
      0 -> PartitionOutcome.of(
        0,
        ended(isHit = false, rows = all(rows(0L -> 9L), rows(9L -> 20L), 20))
      )
    )
    other.add(0 -> PartitionOutcome.of(1, ended(isHit = true)))
    other.add(1 -> PartitionOutcome.of(1, ended(isHit = false)))
    val before = one.copy()
    one.merge(other)
    assertEquals(one.value.keySet, Set(0, 1))
    assertEquals(one.value(0).ended.cardinality, 2)
    assertEquals(one.value(0).hit.cardinality, 1)
    assertEquals(one.value(0).rows.keySet, Set(0))
    assertEquals(before.value(0).ended.cardinality, 1)
    assert(!one.isZero)
    one.reset()
    assert(one.isZero)
  }

  test("partitions with the same number say nothing") {
    assertEquals(Splits.of(Seq(partition(0), partition(0))), None)
  }
}
