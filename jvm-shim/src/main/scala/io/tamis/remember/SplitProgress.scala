package io.tamis.remember

/** What a task has found in a split of a file so far.
  *
  * {{{
  * reader    rows of group 0    rows of group 0    rows of group 1            no more rows
  * filter           one passes         none passes               none passes
  * known                                           0: a hit                   1: no hit
  * }}}
  *
  * Before each call of `loaded`, and of `ended`, all rows that the reader has returned have gone
  * through the filter.
  *
  * A reader returns each row at most once. So if as many rows have passed as a row group or a file
  * has, the reader has skipped none of them, and all of them have passed.
  *
  * @param isWholeFile
  *   whether the split is the whole file
  * @param positionOf
  *   finds the row group of a reader; None: its row groups are not known
  */
private[remember] final class SplitProgress(
    hits: TaskHits,
    isWholeFile: Boolean,
    positionOf: AnyRef => Option[RowGroupPosition]
) {
  private var isCertain = hits.start()
  private var isWholeCertain = true
  private var passed = 0L
  private var rowsOfFile: Option[Long] = None
  private var rowGroups: RowGroupPosition = _ // null: not known, or there is only one in the file
  private var isFirst = true
  private var group = -1
  private var withHit, withoutHit, full = RowRanges.none
  private var values: Option[ValueRanges] = None // of the rows that passed
  private var areValuesKnown = true

  /** Called when the reader has loaded rows, which have not been filtered yet. */
  def loaded(reader: AnyRef): Unit =
    if (isFirst) {
      isFirst = false
      positionOf(reader).foreach(start)
    } else if (rowGroups != null) {
      val now = rowGroups.current
      if (now != group) {
        endPart()
        isCertain = hits.start()
        group = now
      }
    }

  private def start(position: RowGroupPosition): Unit = {
    if (isWholeFile) rowsOfFile = position.rowsOfFile
    if (!isWholeFile || !rowsOfFile.exists(_ == rowsIn(position, 0))) {
      rowGroups = position
      group = position.current
    }
  }

  /** What is known after the reader had no more rows. None: nothing. */
  def ended(): Option[SplitOutcome] = {
    endPart()
    if (isWholeCertain) {
      val isFull = passed > 0 && rowsOfFile.contains(passed)
      val known = values.filter(_ => areValuesKnown)
      Some(SplitOutcome(isEnded = true, passed > 0, isFull, rows(isWhole = true), known))
    } else stopped()
  }

  /** What is known if the reader is not asked any more. The rows of its last row group may not have
    * been filtered. None: nothing.
    */
  def stopped(): Option[SplitOutcome] =
    rows(isWhole = false)
      .filterNot(r => r.withoutHit.isEmpty && r.full.isEmpty)
      .map(r => SplitOutcome(isEnded = false, isHit = false, isFull = false, Some(r)))

  /** Ends a row group, or the split if its row groups are not known. */
  private def endPart(): Unit =
    // certain from the first row on, and still at the end: no row was missed
    hits.end().filter(_ => isCertain) match {
      case None       => isWholeCertain = false
      case Some(rows) =>
        passed += rows
        if (rows > 0) addValues()
        if (rowGroups != null) addGroup(rows)
    }

  private def addValues(): Unit = {
    val some = hits.ranges
    areValuesKnown &&= some.isDefined
    values = (values ++ some).reduceOption(_ or _)
  }

  private def addGroup(passed: Long): Unit = {
    val rows = rowGroups.rows(group)
    val one = RowRanges.of(rows.toSeq)
    if (passed == 0) withoutHit = withoutHit or one
    else {
      withHit = withHit or one
      if (passed == rowsIn(rowGroups, group)) full = full or one
    }
    if (rows.isEmpty || withHit.size + withoutHit.size + full.size > SplitProgress.MostRanges)
      rowGroups = null // from here on, only the split as a whole has an outcome
  }

  /** The number of rows of a row group; -1: not known. */
  private def rowsIn(position: RowGroupPosition, group: Int): Long =
    position.rows(group).fold(-1L) { case (start, stop) => stop - start }

  private def rows(isWhole: Boolean): Option[SplitRows] =
    Option.when(rowGroups != null)(
      SplitRows(isWhole, withHit, withoutHit, full, rowGroups.lastRow)
    )
}

private object SplitProgress {

  /** Of a split: more would take too much memory of the driver. */
  val MostRanges = 256
}
