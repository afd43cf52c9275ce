package io.tamis.planning

import io.tamis.listing.Listing

/** How much of something a scan keeps; each None if it is not known for every file. */
final case class Kept(part: Option[Long], total: Option[Long]) {

  /** For people, if both are known. */
  def text: Option[String] = for { some <- part; all <- total } yield s"$some of $all"
}

/** How much a scan keeps of its table. */
final case class ScanSizes(files: Kept, bytes: Kept, rows: Kept, rowGroups: Kept) {

  /** The same, of a table with these files; the scan may list only some of them. */
  def outOf(table: Listing): ScanSizes = copy(
    files.copy(total = Some(table.tableSize.files)),
    bytes.copy(total = Some(table.tableSize.bytes)),
    rows.copy(total = rows.total.filter(_ => files.total.contains(table.tableSize.files)))
  )

  /** As fields of messages and reports: `files_kept`, `files_total`, … */
  def fields: Seq[(String, Option[Long])] = ScanSizes.Names.zip(
    Seq(files, bytes, rows, rowGroups).flatMap(kept => Seq(kept.part, kept.total))
  )
}

object ScanSizes {

  /** The names of the fields. */
  val Names: Seq[String] =
    Seq("files", "bytes", "rows", "row_groups").flatMap(n => Seq(s"${n}_kept", s"${n}_total"))

  def of(decision: Decision): ScanSizes = {
    val (kept, listing) = (decision.kept, decision.kept.listing)
    val table = listing.tableSize
    ScanSizes(
      Kept(Some(kept.count.toLong), Some(table.files)),
      Kept(Some(kept.bytes), Some(table.bytes)),
      Kept(
        decision.keptRecords,
        if (listing.isWholeTable) decision.totalRecords else table.rows
      ),
      // if not all files of the table are listed, their row groups are not counted
      decision.rowGroups
        .map(groups => groups.copy(total = groups.total.filter(_ => listing.isWholeTable)))
        .getOrElse(Kept(None, None))
    )
  }
}
