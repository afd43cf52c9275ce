package io.tamis.rules.commands

import io.tamis.PlanSuite
import io.tamis.rules.relations.FileRelation
import io.tamis.wire.ExpressionWriter

import scala.collection.mutable

class TargetScansSuite extends PlanSuite {

  /** What is known of the rows of `t` in a query: its conjuncts and keys; None: nothing. */
  private def needed(sql: String): Option[Set[String]] = {
    val found = mutable.Buffer.empty[NeededRows]
    new TargetScans({
      case (plan @ FileRelation(relation, files), rows)
          if files.location.rootPaths.head.getName == "t" =>
        found += rows
        plan
    }).in(optimized(sql)): Unit
    val texts = found.map(rows => rows.conjuncts ++ rows.keys.map(_.key))
    if (texts.isEmpty) None
    else
      Some(texts.flatten.map(ExpressionWriter.sqlOf).filterNot(_.contains("IS NOT NULL")).toSet)
  }

  test("a filter says which rows are needed") {
    assertEquals(needed("SELECT * FROM t WHERE k % 3 = 1"), Some(Set("((k % 3L) = 1L)")))
    assertEquals(needed("SELECT * FROM t"), None)
  }

  test("a filter that is not deterministic gets every row") {
    assertEquals(needed("SELECT * FROM t WHERE rand(7) < 0.5 AND k % 3 = 1"), None)
    assertEquals(
      needed("SELECT * FROM (SELECT * FROM t WHERE rand(7) < 0.5) WHERE k % 3 = 1"),
      None
    )
  }

  test("projections may tell rows and files apart, as long as nothing depends on it") {
    val named = "SELECT k, monotonically_increasing_id() id, input_file_name() f FROM t"
    assertEquals(needed(s"SELECT * FROM ($named) WHERE k % 3 = 1"), Some(Set("((k % 3L) = 1L)")))
    assertEquals(needed(s"SELECT * FROM ($named) WHERE k % 3 = 1 AND id < 5"), None)
    assertEquals(needed("SELECT * FROM (SELECT k, rand(7) r FROM t) WHERE k % 3 = 1"), None)
  }

  test("joins say it of the sides whose rows without a match have no effect") {
    val ids = "(SELECT k, v, monotonically_increasing_id() id FROM t) t"
    val on = "ON t.k = u.v + 1L AND t.v % 3 = 1"
    Seq(
      s"$ids JOIN u $on" -> true,
      s"u RIGHT JOIN $ids $on" -> false,
      s"u LEFT JOIN $ids $on" -> true,
      s"$ids RIGHT JOIN u $on" -> true,
      s"$ids LEFT JOIN u $on" -> false,
      s"$ids FULL JOIN u $on" -> false,
      s"u LEFT ANTI JOIN $ids $on" -> true,
      s"$ids LEFT ANTI JOIN u $on" -> false
    ).foreach { case (join, isNeeded) =>
      val expected = Option.when(isNeeded)(Set("((v % 3) = 1)", "k"))
      assertEquals(needed(s"SELECT * FROM $join"), expected, join)
    }
  }

  test("an equality of NULLs gives no keys") {
    assertEquals(needed("SELECT * FROM t RIGHT JOIN u ON t.k <=> u.k"), None)
  }
}
