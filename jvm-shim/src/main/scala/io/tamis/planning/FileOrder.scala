package io.tamis.planning

/** A column by which rows are sorted, as ORDER BY sorts them by default: NULLS FIRST if ascending,
  * NULLS LAST if descending.
  */
final case class SortedColumn(name: String, isDescending: Boolean) {
  def text: String = if (isDescending) s"$name DESC" else name
}

/** An order that the rows of each task have, if the task reads files one after the other.
  *
  * @param columns
  *   the columns of the order
  * @param files
  *   the files whose rows are known to be in the order; None: all files
  * @param places
  *   by ordinal in the listing, a number by which a task sorts its files; a file without a number
  *   is the only one of its task
  */
final case class FileOrder(
    columns: Seq[SortedColumn],
    files: Option[FileSelection],
    places: Map[Int, Int]
) {

  /** Whether the order is known of all these files. */
  def covers(kept: FileSelection): Boolean = files.forall { known =>
    (known.listing eq kept.listing) && kept.isWithin(known)
  }
}
