package io.tamis.planning

import io.tamis.wire._
import java.util.BitSet

class AnswerMemoSuite extends munit.FunSuite {
  private var now = 0L
  private val scan = ScanRequest(
    SnapshotOfFiles("f00d", "/dir", 2),
    TableOfFiles("t", caseSensitive = false, Seq("file:/t"), Nil),
    IndexSettings(enabled = true, None, 0, 2500),
    Map.empty,
    None,
    Messages.mapper.createArrayNode()
  )
  private val question = AnswerMemo.Key(scan, rowGroups = true, None, 0)
  private val exact = Outcome(Pushdown.Exact, None, None)
  private val proven = PlanAnswer(new BitSet, None, Some(7), Some(9), Seq(exact, exact), Nil)

  private def lasts(answer: PlanAnswer, key: AnswerMemo.Key = question): Boolean = {
    val memo = new AnswerMemo(() => now)
    memo.put(key, answer)
    now += AnswerMemo.LifetimeNanos - 1
    assertEquals(memo.get(key), Some(answer))
    now += 1
    memo.get(key).isDefined
  }

  test("an answer that proves every conjunct for every row is remembered") {
    assert(lasts(proven))
    assert(lasts(proven.copy(outcomes = Nil)))
  }

  test("answers about a scan are discarded, and so are those that depend on its rows") {
    val other = scan.copy(cacheDirectory = Some("/cache"))
    val source = KeySource(other, Messages.mapper.createObjectNode())
    val join = JoinGoal(Messages.mapper.createObjectNode(), Seq(source), None)
    val keys = Seq(question, question.copy(scan = other), question.copy(goal = Some(join)))
    val memo = new AnswerMemo(() => now)
    keys.foreach(memo.put(_, proven))
    memo.forget(_ eq other)
    assertEquals(keys.map(memo.get(_).isDefined), Seq(true, false, false))
  }

  test("an answer to which an index may add something is remembered for a short time") {
    val inexact = exact.copy(pushdown = Pushdown.Inexact)
    val goal = ClusteredGoal(Messages.mapper.createArrayNode())
    assert(!lasts(proven.copy(outcomes = Seq(exact, inexact))))
    assert(!lasts(proven.copy(outcomes = Seq(exact.copy(pushdown = Pushdown.Unsupported)))))
    assert(!lasts(proven.copy(keptRecords = None)))
    assert(!lasts(proven.copy(totalRecords = None)))
    assert(!lasts(proven.copy(warnings = Seq("index.damaged" -> "it is damaged"))))
    assert(!lasts(proven, question.copy(goal = Some(goal))))
  }
}
