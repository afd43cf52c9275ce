package io.tamis.planning

import io.tamis.PlanSuite
import io.tamis.bridge.{PlannerUnavailable, StubAnswer, StubPlanner}
import io.tamis.scan.TamisTable

import org.apache.spark.sql.catalyst.expressions.Expression

class ClusteringSuite extends PlanSuite {
  private def relation = tamis("SELECT * FROM t")
  private def flags(all: Boolean*) =
    StubAnswer(goal = s"""{"kind":"clustered","flags":${all.mkString("[", ",", "]")}}""")

  private def clustered(keys: Int = 2, within: Option[Int] = None): Seq[Boolean] = {
    val plan = relation
    val table: TamisTable = tables(plan).head
    val columns: Seq[Expression] = plan.output.take(keys)
    val confined = within.fold(table) { count =>
      val bits = new java.util.BitSet()
      bits.set(0, count)
      table.within(FileSelection.of(ScanPlanner.everything(table).kept.listing, bits))
    }
    Clustering.of(confined, Nil, columns)
  }

  test("the planner answers for each key") {
    answer(flags(true, false))
    assertEquals(clustered(), Seq(true, false))
    assertEquals(StubPlanner.goals.head.at("/keys/1/p/0").asText, "v")
  }

  test("without keys, or with fewer than two files, nothing is asked") {
    answer(flags(true, true))
    assertEquals(clustered(keys = 0), Nil)
    assertEquals(clustered(within = Some(1)), Seq(false, false))
    assertEquals(StubPlanner.questions, Nil)
    assertEquals(clustered(within = Some(2)), Seq(true, true))
  }

  test("no key is clustered if the answer is not known") {
    answer(StubAnswer(goal = StubAnswer.nothing("INDEX_MISSING")))
    assertEquals(clustered(), Seq(false, false))
    answer(throw new PlannerUnavailable("the test says so"))
    assertEquals(clustered(), Seq(false, false))
    answer(flags(true, true))
    withConf("spark.tamis.mode" -> "observe")(assertEquals(clustered(), Seq(false, false)))
  }

  test("an answer of another kind or for other keys counts as unknown") {
    answer(StubAnswer(goal = StubAnswer.files(0)))
    assertEquals(clustered(), Seq(false, false))
    answer(flags(true))
    assertEquals(clustered(), Seq(false, false))
  }
}
