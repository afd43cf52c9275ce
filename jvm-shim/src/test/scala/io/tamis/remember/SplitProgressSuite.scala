package io.tamis.remember

class SplitProgressSuite extends munit.FunSuite {

  /** Row groups of ten rows. */
  private final class Reader(groups: Int) extends RowGroupPosition {
    var current: Int = -1
    override def rows(group: Int): Option[(Long, Long)] =
      Option.when(group >= 0 && group < groups)(group * 10L -> (group + 1) * 10L)
    override def lastRow: Long = groups * 10L
  }

  private final class Read(groups: Int, isObserved: Boolean = true) {
    val hits = new TaskHits
    if (isObserved) hits.observe()
    hits.readerOpens()
    private val reader = new Reader(groups)
    val progress = new SplitProgress(hits, _ => Option.when(groups > 0)(reader))

    /** Loads a batch of a row group; then some of its rows pass, or none. */
    def batch(group: Int, passes: Boolean): this.type = {
      reader.current = group
      progress.loaded(reader)
      if (passes) hits.note()
      this
    }
  }

  private def rows(ranges: (Long, Long)*) = RowRanges.of(ranges)

  test("each row group has its own outcome, and those that were skipped have none") {
    val read = new Read(6)
    read.batch(0, passes = false).batch(0, passes = false)
    read.batch(1, passes = true).batch(1, passes = false)
    read.batch(4, passes = false)
    val rowsOfSplit = SplitRows(isWhole = true, rows(10L -> 20L), rows(0L -> 10L, 40L -> 50L), 60)
    assertEquals(
      read.progress.ended(),
      Some(SplitOutcome(isEnded = true, isHit = true, Some(rowsOfSplit)))
    )
  }

  test("the last row group of a reader that is stopped is not known") {
    val read = new Read(6).batch(0, passes = false).batch(1, passes = false)
    val known = SplitRows(isWhole = false, RowRanges.none, rows(0L -> 10L), 60)
    assertEquals(
      read.progress.stopped(),
      Some(SplitOutcome(isEnded = false, isHit = false, Some(known)))
    )
    assertEquals(new Read(6).batch(0, passes = false).progress.stopped(), None)
    assertEquals(
      new Read(6).batch(0, passes = true).batch(1, passes = false).progress.stopped(),
      None
    )
  }

  test("a reader without a row, or whose row groups are not known, has one outcome") {
    val none = Some(SplitOutcome(isEnded = true, isHit = false, None))
    assertEquals(new Read(6).progress.ended(), none)
    assertEquals(new Read(0).batch(0, passes = false).progress.ended(), none)
    val hit = new Read(0).batch(0, passes = true).batch(1, passes = false)
    assertEquals(hit.progress.ended(), Some(SplitOutcome(isEnded = true, isHit = true, None)))
    // a row group whose rows are not known, after others
    val odd = new Read(1).batch(0, passes = true).batch(7, passes = false)
    assertEquals(odd.progress.ended(), Some(SplitOutcome(isEnded = true, isHit = true, None)))
  }

  test("nothing is known while nothing observes the rows") {
    val read = new Read(6, isObserved = false).batch(0, passes = false).batch(1, passes = false)
    assertEquals(read.progress.ended(), None)
  }

  test("from a second reader in the task on, nothing is known") {
    val read = new Read(6).batch(0, passes = false).batch(1, passes = false)
    read.hits.readerOpens()
    read.batch(2, passes = false)
    val known = SplitRows(isWhole = false, RowRanges.none, rows(0L -> 10L), 60)
    assertEquals(
      read.progress.ended(),
      Some(SplitOutcome(isEnded = false, isHit = false, Some(known)))
    )
  }

  test("a split with very many ranges has one outcome") {
    val read = new Read(1000)
    (0 until 1000).foreach(i => read.batch(i, passes = i % 2 == 0))
    assertEquals(read.progress.ended(), Some(SplitOutcome(isEnded = true, isHit = true, None)))
  }
}
