package io.tamis.remember

class SplitProgressSuite extends munit.FunSuite {

  /** Row groups of ten rows. */
  private final class Reader(groups: Int) extends RowGroupPosition {
    var current: Int = -1
    override def rows(group: Int): Option[(Long, Long)] =
      Option.when(group >= 0 && group < groups)(group * 10L -> (group + 1) * 10L)
    override def lastRow: Long = groups * 10L
    override def rowsOfFile: Option[Long] = Some(lastRow)
  }

  private final class Read(
      groups: Int,
      isObserved: Boolean = true,
      isWholeFile: Boolean = true,
      columns: Int = 0
  ) {
    val hits = new TaskHits(columns)
    if (isObserved) hits.observe()
    hits.readerOpens()
    private val reader = new Reader(groups)
    val progress = new SplitProgress(hits, isWholeFile, _ => Option.when(groups > 0)(reader))

    /** Loads a batch of a row group; then one of its rows passes, or none. */
    def batch(group: Int, passes: Boolean): this.type = batch(group, if (passes) 1 else 0)

    /** The same, with the number of rows that pass. */
    def batch(group: Int, rows: Int): this.type = {
      reader.current = group
      progress.loaded(reader)
      (0 until rows).foreach(_ => hits.note(_ => true, _ => 0))
      this
    }
  }

  /** Loads a batch of a row group. Its rows with these values pass. */
  private def values(read: Read, group: Int, values: Long*): Unit = {
    read.batch(group, rows = 0)
    values.foreach(value => read.hits.note(_ => false, _ => value))
  }
  private def range(least: Long, greatest: Long) =
    Some(new ValueRanges(Array(least), Array(greatest)))

  test("the values of a split are those of its row groups together") {
    val read = new Read(4, columns = 1)
    values(read, 0, 5)
    values(read, 1)
    values(read, 2, 3, 9)
    values(read, 2, 4)
    assertEquals(read.progress.ended().flatMap(_.values), range(3, 9))
    val none = new Read(4, columns = 1)
    values(none, 0)
    assertEquals(none.progress.ended().flatMap(_.values), None)
  }

  test("the values of a split are not known if those of a row group are not, or it was stopped") {
    val many = new Read(4, columns = 1)
    values(many, 0, Seq.fill(TaskHits.MostValues + 1)(5L): _*)
    values(many, 1, 7)
    assertEquals(many.progress.ended().map(_.values), Some(None))
    val stopped = new Read(4, columns = 1)
    values(stopped, 0, 5)
    values(stopped, 1)
    values(stopped, 2)
    assertEquals(stopped.progress.stopped().map(_.values), Some(None))
    val mixed = new Read(4, columns = 1)
    values(mixed, 0, 5)
    values(mixed, 1)
    values(mixed, 2)
    mixed.hits.readerOpens()
    assertEquals(mixed.progress.ended().map(_.values), Some(None))
  }

  private def rows(ranges: (Long, Long)*) = RowRanges.of(ranges)

  test("each row group has its own outcome, and those that were skipped have none") {
    val read = new Read(6)
    read.batch(0, passes = false).batch(0, passes = false)
    read.batch(1, passes = true).batch(1, passes = false)
    read.batch(4, passes = false)
    val without = rows(0L -> 10L, 40L -> 50L)
    val rowsOfSplit = SplitRows(isWhole = true, rows(10L -> 20L), without, RowRanges.none, 60)
    assertEquals(read.progress.ended(), ended(isHit = true, Some(rowsOfSplit)))
  }

  test("the last row group of a reader that is stopped is not known") {
    val read = new Read(6).batch(0, passes = false).batch(1, passes = false)
    assertEquals(read.progress.stopped(), stopped(RowRanges.none, rows(0L -> 10L)))
    assertEquals(new Read(6).batch(0, passes = false).progress.stopped(), None)
    assertEquals(
      new Read(6).batch(0, passes = true).batch(1, passes = false).progress.stopped(),
      None
    )
  }

  test("a reader without a row, or whose row groups are not known, has one outcome") {
    val none = ended(isHit = false, None)
    assertEquals(new Read(6).progress.ended(), none)
    assertEquals(new Read(0).batch(0, passes = false).progress.ended(), none)
    val hit = new Read(0).batch(0, passes = true).batch(1, passes = false)
    assertEquals(hit.progress.ended(), ended(isHit = true, None))
    // a row group whose rows are not known, after others
    val odd = new Read(2).batch(0, passes = true).batch(7, passes = false)
    assertEquals(odd.progress.ended(), ended(isHit = true, None))
  }

  test("nothing is known while nothing observes the rows") {
    val read = new Read(6, isObserved = false).batch(0, passes = false).batch(1, passes = false)
    assertEquals(read.progress.ended(), None)
  }

  test("from a second reader in the task on, nothing is known") {
    val read = new Read(6).batch(0, passes = false).batch(1, passes = false)
    read.hits.readerOpens()
    read.batch(2, passes = false)
    assertEquals(read.progress.ended(), stopped(RowRanges.none, rows(0L -> 10L)))
  }

  test("a split with very many ranges has one outcome") {
    val read = new Read(1000)
    (0 until 1000).foreach(i => read.batch(i, passes = i % 2 == 0))
    assertEquals(read.progress.ended(), ended(isHit = true, None))
  }

  test("a row group is full, and so is a whole file, if as many rows pass as it has") {
    val read = new Read(2).batch(0, rows = 4).batch(0, rows = 6).batch(1, rows = 10)
    assertEquals(read.progress.ended(), full(rows(0L -> 20L), 20))
    // one row of the second row group is missing
    val one = new Read(2).batch(0, rows = 10).batch(1, rows = 9)
    val known = SplitRows(isWhole = true, rows(0L -> 20L), RowRanges.none, rows(0L -> 10L), 20)
    assertEquals(one.progress.ended(), ended(isHit = true, Some(known)))
    // the reader skipped the second row group
    val some = new Read(2).batch(0, rows = 10)
    val first = SplitRows(isWhole = true, rows(0L -> 10L), RowRanges.none, rows(0L -> 10L), 20)
    assertEquals(some.progress.ended(), ended(isHit = true, Some(first)))
  }

  test("a file with one row group is full or not as a whole") {
    val whole = Some(SplitOutcome(isEnded = true, isHit = true, isFull = true, None))
    assertEquals(new Read(1).batch(0, rows = 3).batch(0, rows = 7).progress.ended(), whole)
    assertEquals(new Read(1).batch(0, rows = 9).progress.ended(), ended(isHit = true, None))
    // a split of a file knows its own row groups only
    val part = new Read(1, isWholeFile = false).batch(0, rows = 10)
    val known = SplitRows(isWhole = true, rows(0L -> 10L), RowRanges.none, rows(0L -> 10L), 10)
    assertEquals(part.progress.ended(), ended(isHit = true, Some(known)))
  }

  test("a reader that is stopped knows the full row groups before") {
    val read = new Read(3).batch(0, rows = 10).batch(1, rows = 10)
    assertEquals(
      read.progress.stopped(),
      stopped(rows(0L -> 10L), RowRanges.none, rows(0L -> 10L), 30)
    )
    assertEquals(new Read(3).batch(0, rows = 10).progress.stopped(), None)
  }

  test("rows that nothing observes, or that two readers return, do not make a file full") {
    val unseen = new Read(2, isObserved = false).batch(0, rows = 10).batch(1, rows = 10)
    assertEquals(unseen.progress.ended(), None)
    val mixed = new Read(2).batch(0, rows = 10)
    mixed.hits.readerOpens()
    mixed.batch(1, rows = 10)
    assertEquals(mixed.progress.ended(), None)
  }

  test("a split with very many ranges is full as a whole file") {
    val read = new Read(1000)
    (0 until 1000).foreach(i => read.batch(i, rows = 10))
    assertEquals(read.progress.ended(), full(rows(0L -> 10000L), 10000))
    val odd = new Read(1000)
    (0 until 1000).foreach(i => odd.batch(i, rows = if (i % 2 == 0) 10 else 9))
    assertEquals(odd.progress.ended(), ended(isHit = true, None))
  }

  private def ended(isHit: Boolean, rows: Option[SplitRows]) =
    Some(SplitOutcome(isEnded = true, isHit, isFull = false, rows))
  private def full(all: RowRanges, lastRow: Long) = {
    val rows = SplitRows(isWhole = true, all, RowRanges.none, all, lastRow)
    Some(SplitOutcome(isEnded = true, isHit = true, isFull = true, Some(rows)))
  }
  private def stopped(
      hit: RowRanges,
      without: RowRanges,
      full: RowRanges = RowRanges.none,
      lastRow: Long = 60
  ) = {
    val rows = SplitRows(isWhole = false, hit, without, full, lastRow)
    Some(SplitOutcome(isEnded = false, isHit = false, isFull = false, Some(rows)))
  }
}
