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
  * @param positionOf
  *   finds the row group of a reader; None: its row groups are not known
  */
private[remember] final class SplitProgress(
    hits: TaskHits,
    positionOf: AnyRef => Option[RowGroupPosition]
) {
  private var isCertain = hits.start()
  private var isWholeCertain = true
  private var isHit = false
  private var rowGroups: RowGroupPosition = _ // null: not known
  private var isFirst = true
  private var group = -1
  private var withHit, withoutHit = RowRanges.none

  /** Called when the reader has loaded rows, which have not been filtered yet. */
  def loaded(reader: AnyRef): Unit =
    if (isFirst) {
      isFirst = false
      rowGroups = positionOf(reader).orNull
      if (rowGroups != null) group = rowGroups.current
    } else if (rowGroups != null) {
      val now = rowGroups.current
      if (now != group) {
        endPart()
        isCertain = hits.start()
        group = now
      }
    }

  /** What is known after the reader had no more rows. None: nothing. */
  def ended(): Option[SplitOutcome] = {
    endPart()
    if (isWholeCertain) Some(SplitOutcome(isEnded = true, isHit, rows(isWhole = true)))
    else stopped()
  }

  /** What is known if the reader is not asked any more. The rows of its last row group may not have
    * been filtered. None: nothing.
    */
  def stopped(): Option[SplitOutcome] =
    rows(isWhole = false)
      .filterNot(_.withoutHit.isEmpty)
      .map(r => SplitOutcome(isEnded = false, isHit = false, Some(r)))

  /** Ends a row group, or the split if its row groups are not known. */
  private def endPart(): Unit =
    // certain from the first row on, and still at the end: no row was missed
    hits.end().filter(_ => isCertain) match {
      case None         => isWholeCertain = false
      case Some(passed) =>
        isHit ||= passed
        if (rowGroups != null) addGroup(passed)
    }

  private def addGroup(passed: Boolean): Unit = {
    val rows = rowGroups.rows(group)
    val one = RowRanges.of(rows.toSeq)
    if (passed) withHit = withHit or one else withoutHit = withoutHit or one
    if (rows.isEmpty || withHit.size + withoutHit.size > SplitProgress.MostRanges)
      rowGroups = null // from here on, only the split as a whole has an outcome
  }

  private def rows(isWhole: Boolean): Option[SplitRows] =
    Option.when(rowGroups != null)(SplitRows(isWhole, withHit, withoutHit, rowGroups.lastRow))
}

private object SplitProgress {

  /** Of a split: more would take too much memory of the driver. */
  val MostRanges = 256
}
