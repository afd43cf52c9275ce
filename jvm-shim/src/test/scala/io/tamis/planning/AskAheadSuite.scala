package io.tamis.planning

import io.tamis.PlanSuite
import io.tamis.bridge.{StubAnswer, StubPlanner}
import io.tamis.rules.filters.KeepUsedFilters
import io.tamis.rules.joins.PruneForJoins

import com.fasterxml.jackson.databind.JsonNode

class AskAheadSuite extends PlanSuite {
  private def joined =
    tamis("SELECT * FROM t JOIN u ON t.k = u.k JOIN p ON t.v = p.v WHERE t.v = 3 AND p.s > 'a'")

  /** The answer of the rules in a driver that has asked about these files before. */
  private def planned(each: StubAnswer = StubAnswer()) = {
    answer(each)
    def apply() = KeepUsedFilters(PruneForJoins(joined))
    val one = apply()
    val asked = StubPlanner.questions.map(without)
    // only after the joins have asked about the files
    assertEquals(StubPlanner.batches, 1)
    AnswerMemo.forget(_ => true)
    val other = apply()
    (one, other, asked, StubPlanner.questions.map(without).drop(asked.size))
  }

  private def without(question: JsonNode) =
    question.toString.replaceAll(""""id":"[^"]*"""", "")

  test("the questions of a rule about known files are asked in one message") {
    val (one, other, first, second) = planned()
    assertEquals(StubPlanner.batches, 3)
    assertEquals(second.toSet, first.toSet)
    assertEquals(second.size, first.size)
    assertEquals((confined(one), failed(one)), (confined(other), failed(other)))
  }

  test("a question that depends on an answer is asked when the answer is known") {
    val (one, other, first, second) = planned(StubAnswer(goal = StubAnswer.files(0, 1)))
    assertEquals(confined(one), Seq(2, 2, 2))
    assertEquals(confined(other), Seq(2, 2, 2))
    assertEquals(reached(other), reached(one))
    assert(first.toSet.subsetOf(second.toSet))
  }

  test("a question without an answer is asked by itself") {
    answer(StubAnswer())
    PruneForJoins(joined)
    AnswerMemo.forget(_ => true)
    var failures = 0
    StubPlanner.answer { _ =>
      if (failures == 0) {
        failures += 1
        throw new IllegalStateException("once")
      }
      StubAnswer(goal = StubAnswer.files(0))
    }
    assertEquals(confined(PruneForJoins(joined)), Seq(1, 1, 1))
    assertEquals((StubPlanner.batches, failures), (1, 1))
  }
}
