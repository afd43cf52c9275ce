package io.tamis.planning

import io.tamis.listing.{Listing, TableSize}

class ScanSizesSuite extends munit.FunSuite {
  private val listed = Listing.recorded(Array("file:/t/a", "file:/t/b"), Array(10L, 20L), 1L)

  private def sizes(listing: Listing): ScanSizes = ScanSizes.of(
    Decision(
      FileSelection.all(listing),
      Nil,
      Some(5L),
      Some(9L),
      0.0,
      None,
      rowGroups = Some(Kept(Some(2L), Some(6L)))
    )
  )

  test("the row groups of all files are counted") {
    assertEquals(sizes(listed).rowGroups, Kept(Some(2L), Some(6L)))
  }

  test("the row groups of some files of a table are not those of the table") {
    val some = sizes(listed.partOf(Some(TableSize(3, 60, Some(90L)))))
    assertEquals(some.rowGroups, Kept(Some(2L), None))
    assertEquals((some.files.total, some.rows.total), (Some(3L), Some(90L)))
  }
}
