package io.tamis.remember

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

class SplitOutcomesSuite extends munit.FunSuite {
  private def split(name: String, start: Long, length: Long) =
    PartitionedFile(
      InternalRow.empty,
      SparkPath.fromUrlString(s"file:/t/$name"),
      start,
      length,
      fileSize = if (name == "a") 20 else 5
    )

  private def partition(index: Int, files: PartitionedFile*) =
    FilePartition(index, files.toArray)

  /** `a` lies in both partitions, `b` and `c` in one. */
  private val partitions = Seq(
    partition(0, split("a", 0, 10), split("b", 0, 5)),
    partition(1, split("a", 10, 10), split("c", 0, 5))
  )

  private def ended(isHit: Boolean, rows: Option[SplitRows] = None, isFull: Boolean = false) =
    SplitOutcome(isEnded = true, isHit, isFull, rows)
  private def rows(ranges: (Long, Long)*) = RowRanges.of(ranges)

  private def everything(
      outcomes: Seq[(Int, Int, SplitOutcome)],
      partitions: Seq[FilePartition] = partitions
  ): Map[String, FoundInFile] = {
    val all = new SplitOutcomes
    outcomes.foreach { case (p, i, outcome) =>
      all.add(p -> PartitionOutcome.of(Seq(i -> outcome)))
    }
    Splits.found(partitions, all.value).map { case (uri, what) =>
      uri.stripPrefix("file:/t/") -> what
    }
  }
  private def found(outcomes: (Int, Int, SplitOutcome)*): Map[String, PartOfFile] =
    everything(outcomes).flatMap { case (file, f) => f.withoutHit.map(file -> _) }
  private def full(outcomes: (Int, Int, SplitOutcome)*): Map[String, PartOfFile] =
    everything(outcomes).flatMap { case (file, f) => f.full.map(file -> _) }
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
    Some(SplitRows(isWhole = true, hit, without, RowRanges.none, lastRow))
  private def stopped(hit: RowRanges, without: RowRanges, lastRow: Long) =
    SplitOutcome(
      isEnded = false,
      isHit = false,
      isFull = false,
      Some(SplitRows(isWhole = false, hit, without, RowRanges.none, lastRow))
    )

  test("in a file that was read to its end, no row passes outside of the row groups with a hit") {
    // the reader skipped the rows 10 to 20, and 30 to 40
    val one = ended(isHit = true, all(rows(20L -> 30L), rows(0L -> 10L), 40))
    assertEquals(
      found((0, 1, one)),
      Map[String, PartOfFile]("b" -> SomeRows(rows(0L -> 20L, 30L -> 40L)))
    )
    val first = ended(isHit = true, all(rows(0L -> 10L), rows(10L -> 20L), 20))
    val second = ended(isHit = false, all(RowRanges.none, rows(20L -> 30L), 40))
    val both = found((0, 0, first), (1, 0, second))
    assertEquals(both, Map[String, PartOfFile]("a" -> SomeRows(rows(10L -> 40L))))
  }

  test("of a file that was not read to its end, only row groups that were read are known") {
    val part = stopped(rows(0L -> 10L), rows(10L -> 20L), 40)
    val expected = Map[String, PartOfFile]("b" -> SomeRows(rows(10L -> 20L)))
    assertEquals(found((0, 1, part)), expected)
    // another split of the file is missing
    val first = ended(isHit = true, all(rows(0L -> 10L), rows(10L -> 20L), 40))
    assertEquals(found((0, 0, first)), Map[String, PartOfFile]("a" -> SomeRows(rows(10L -> 20L))))
  }

  test("a split with hits in unknown row groups leaves only the row groups that were read") {
    val unknown = ended(isHit = true)
    val second = ended(isHit = true, all(rows(20L -> 30L), rows(30L -> 40L), 40))
    val expected = Map[String, PartOfFile]("a" -> SomeRows(rows(30L -> 40L)))
    assertEquals(found((0, 0, unknown), (1, 0, second)), expected)
    assertEquals(found((0, 1, unknown)), Map.empty[String, PartOfFile])
    // an attempt that was stopped does not tell all hits of the other
    val part = stopped(RowRanges.none, rows(0L -> 10L), 40)
    assertEquals(
      found((0, 1, unknown), (0, 1, part)),
      Map[String, PartOfFile]("b" -> SomeRows(rows(0L -> 10L)))
    )
  }

  test("a row group with a hit in one attempt is not without a hit") {
    val one = stopped(RowRanges.none, rows(0L -> 20L), 40)
    val other = stopped(rows(10L -> 20L), rows(20L -> 30L), 40)
    val expected = Map[String, PartOfFile]("b" -> SomeRows(rows(0L -> 10L, 20L -> 30L)))
    assertEquals(found((0, 1, one), (0, 1, other)), expected)
  }

  test("what was learnt before is not learnt again") {
    val files = new java.util.BitSet
    files.set(3)
    val before = PartsOfFiles(files, Map(0 -> rows(0L -> 10L)))
    val more = PartsOfFiles(files, Map(0 -> rows(0L -> 20L), 1 -> rows(0L -> 5L)))
    assertEquals(more.without(before).rows.keySet, Set(0, 1))
    assert(more.without(before).files.isEmpty)
    val none = PartsOfFiles.none
    for (learnt <- Seq(Learnt(before, none), Learnt(none, before))) {
      assert(!learnt.isEmpty)
      assert(learnt.without(learnt).isEmpty)
    }
    assert(!Learnt(none, more).without(Learnt(more, before)).isEmpty)
  }

  private def passed(full: RowRanges, lastRow: Long, hit: RowRanges = RowRanges.none) =
    ended(
      isHit = true,
      Some(SplitRows(isWhole = true, full or hit, RowRanges.none, full, lastRow))
    )

  test("a file is full if it was read in one split and all of its rows passed") {
    val whole = ended(isHit = true, isFull = true)
    assertEquals(full((0, 1, whole)), Map[String, PartOfFile]("b" -> WholeFile))
    // another attempt of the task may have learnt less
    val attempts = full((0, 1, ended(isHit = true)), (0, 1, whole), (0, 1, ended(isHit = true)))
    assertEquals(attempts, Map[String, PartOfFile]("b" -> WholeFile))
    assertEquals(full((0, 1, ended(isHit = true))), Map.empty[String, PartOfFile])
  }

  test("a file is full if all of its splits are, up to its last row") {
    val (first, second) = (passed(rows(0L -> 10L), 10), passed(rows(10L -> 30L), 30))
    assertEquals(full((0, 0, first), (1, 0, second)), Map[String, PartOfFile]("a" -> WholeFile))
    // without the other split, the last row of the file is not known
    assertEquals(full((0, 0, first)), Map[String, PartOfFile]("a" -> SomeRows(rows(0L -> 10L))))
    val unknown = ended(isHit = true)
    assertEquals(
      full((0, 0, first), (1, 0, unknown)),
      Map[String, PartOfFile]("a" -> SomeRows(rows(0L -> 10L)))
    )
  }

  test("a file that is read twice is full only if each of its parts is") {
    val halves = Seq(split("a", 0, 10), split("a", 10, 10))
    val twice = (halves ++ halves).zipWithIndex.map { case (half, i) => partition(i, half) }
    val (first, second) = (passed(rows(0L -> 10L), 10), passed(rows(10L -> 30L), 30))
    val both = everything(Seq((0, 0, first), (2, 0, first)), twice)
    assertEquals(both("a").full, Some(SomeRows(rows(0L -> 10L))))
    val all = everything(Seq((0, 0, first), (2, 0, first), (3, 0, second)), twice)
    assertEquals(all("a").full, Some(WholeFile))
  }

  test("a file with a row group that is not full has other row groups that are") {
    val (first, second) =
      (passed(rows(0L -> 10L), 10), passed(rows(20L -> 30L), 30, rows(10L -> 20L)))
    assertEquals(
      full((0, 0, first), (1, 0, second)),
      Map[String, PartOfFile]("a" -> SomeRows(rows(0L -> 10L, 20L -> 30L)))
    )
  }

  private def of(least: Long, greatest: Long) =
    Some(new ValueRanges(Array(least), Array(greatest)))
  private def passedWith(values: Option[ValueRanges], isFull: Boolean = false) =
    SplitOutcome(isEnded = true, isHit = true, isFull, None, values)
  private def values(outcomes: (Int, Int, SplitOutcome)*): Map[String, ValueRanges] =
    everything(outcomes).flatMap { case (file, f) => f.values.map(file -> _) }

  test("the values of a file are those of its splits, if all were read to their end") {
    val (first, second) = (passedWith(of(3, 5)), passedWith(of(4, 9)))
    assertEquals(values((0, 0, first), (1, 0, second)), Map("a" -> of(3, 9).get))
    assertEquals(values((0, 0, first), (1, 0, ended(isHit = false))), Map("a" -> of(3, 5).get))
    assertEquals(values((0, 0, first)), Map.empty[String, ValueRanges])
    assertEquals(values((0, 0, first), (1, 0, passedWith(None))), Map.empty[String, ValueRanges])
    val stops = stopped(rows(0L -> 10L), rows(10L -> 20L), 40)
    assertEquals(values((0, 0, first), (1, 0, stops)), Map.empty[String, ValueRanges])
    // statistics describe a file whose rows all pass
    assertEquals(
      values((0, 1, passedWith(of(3, 5), isFull = true))),
      Map.empty[String, ValueRanges]
    )
  }

  test("another attempt of a task has seen the same values, or fewer rows") {
    val one = passedWith(of(3, 5))
    val part = stopped(RowRanges.none, rows(0L -> 10L), 40)
    assertEquals(values((0, 1, one), (0, 1, one)), Map("b" -> of(3, 5).get))
    assertEquals(values((0, 1, part), (0, 1, one), (0, 1, part)), Map("b" -> of(3, 5).get))
    val learnt = Learnt(PartsOfFiles.none, PartsOfFiles.none, Map(3 -> of(1, 2).get))
    assert(!learnt.isEmpty)
    assert(learnt.without(learnt).isEmpty)
  }

  test("merging accumulators unites what they found, and changes neither of their parts") {
    val (one, other) = (new SplitOutcomes, new SplitOutcomes)
    one.add(
      0 -> PartitionOutcome.of(
        Seq(0 -> ended(isHit = false, rows = all(rows(0L -> 9L), rows(9L -> 20L), 20)))
      )
    )
    other.add(0 -> PartitionOutcome.of(Seq(1 -> ended(isHit = true, isFull = true))))
    other.add(1 -> PartitionOutcome.of(Seq(1 -> ended(isHit = false))))
    val before = one.copy()
    one.merge(other)
    assertEquals(one.value.keySet, Set(0, 1))
    assertEquals(one.value(0).ended.cardinality, 2)
    assertEquals(one.value(0).hit.cardinality, 1)
    assertEquals(one.value(0).full.cardinality, 1)
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
