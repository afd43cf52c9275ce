package io.tamis.formats

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, BoundReference, Descending, SortOrder}
import org.apache.spark.sql.types.IntegerType
import org.apache.spark.unsafe.types.UTF8String

class RowsInOrderSuite extends munit.FunSuite {
  private val value = BoundReference(5, IntegerType, nullable = true)
  private val check = new RunsOfTask(
    Seq(0, 1, 2),
    3,
    Seq(4, 4),
    Seq(Seq(SortOrder(value, Ascending)), Seq(SortOrder(value, Descending)))
  )

  private def row(file: String, index: Long, value: Any, isOld: Boolean = false): InternalRow =
    InternalRow(UTF8String.fromString(file), 10L, 20L, index, isOld, value)

  /** The rows of a file from this number on. */
  private def rows(file: String, first: Long, values: Any*): Seq[InternalRow] =
    values.zipWithIndex.map { case (v, i) => row(file, first + i, v) }

  /** What is found if tasks read these rows. */
  private def found(tasks: Seq[InternalRow]*): Map[String, Seq[Any]] =
    tasks
      .flatMap(rows => check(rows.iterator))
      .groupBy(_.file.name)
      .map { case (name, runs) => name -> check.joined(runs) }

  test("rows of a file are compared with those before them") {
    assertEquals(found(rows("a", 0, null, 1, 1, 5)), Map("a" -> Seq[Any](4L, 1, 0)))
    assertEquals(found(rows("a", 0, 5, 1, 1, null)), Map("a" -> Seq[Any](4L, 0, 1)))
    assertEquals(found(rows("a", 0, 1, 2, 1)), Map("a" -> Seq[Any](3L, 0, 0)))
    assertEquals(found(rows("a", 0, 1)), Map("a" -> Seq[Any](1L, 1, 1)))
  }

  test("a task reads several files") {
    assertEquals(
      found(rows("a", 0, 8, 9) ++ rows("b", 0, 1, 2) ++ rows("c", 0, 7)),
      Map("a" -> Seq[Any](2L, 1, 0), "b" -> Seq[Any](2L, 1, 0), "c" -> Seq[Any](1L, 1, 1))
    )
  }

  test("several tasks read a file") {
    val sorted = Map("a" -> Seq[Any](5L, 1, 0))
    assertEquals(found(rows("a", 3, 4, 4), rows("a", 0, 1, 2, 3)), sorted)
    assertEquals(found(rows("a", 3, 3, 4), rows("a", 0, 1, 2, 3)), sorted)
    assertEquals(found(rows("a", 3, 2, 4) ++ rows("a", 0, 1, 2, 3)), Map("a" -> Seq[Any](5L, 0, 0)))
  }

  test("nothing is known of a file with missing rows, or with rows that were read twice") {
    for (
      tasks <- Seq(
        Seq(rows("a", 1, 1, 2)),
        Seq(rows("a", 0, 1, 2), rows("a", 3, 3)),
        Seq(rows("a", 0, 1, 2), rows("a", 0, 1, 2)),
        Seq(rows("a", 0, 1, 2), rows("a", 1, 3))
      )
    ) assertEquals(found(tasks: _*)("a").tail, Seq[Any](null, null))
  }

  test("nothing is known of a file with old values in any row") {
    val some = rows("a", 0, 1, 2) :+ row("a", 2, 3, isOld = true)
    assertEquals(found(some ++ rows("a", 3, 4))("a"), Seq[Any](4L, null, null))
    assertEquals(found(row("a", 0, 3, isOld = true) +: rows("a", 1, 4))("a").tail, Seq(null, null))
  }
}
