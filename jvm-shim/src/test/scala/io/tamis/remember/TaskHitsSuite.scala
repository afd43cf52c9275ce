package io.tamis.remember

class TaskHitsSuite extends munit.FunSuite {
  private def observed(): TaskHits = {
    val hits = new TaskHits(0)
    hits.observe()
    hits.readerOpens()
    hits
  }

  test("a row that passes belongs to the file that is read") {
    val hits = observed()
    assert(hits.start())
    seen(hits)
    seen(hits)
    assertEquals(hits.end(), Some(2L))
    assert(hits.start())
    assertEquals(hits.end(), Some(0L))
  }

  /** Notes a row with these values, and then NULL. */
  private def seen(hits: TaskHits, values: Long*): Unit = hits.note(_ >= values.size, values(_))

  test("the least and the greatest values are those of the rows since the start") {
    val hits = new TaskHits(2)
    hits.start()
    seen(hits, 3, Long.MinValue)
    seen(hits, -1, Long.MaxValue)
    assertEquals(
      hits.ranges,
      Some(new ValueRanges(Array(-1, Long.MinValue), Array(3, Long.MaxValue)))
    )
    hits.start()
    seen(hits, 7) // and NULL
    val noValue = new ValueRanges(Array(7, Long.MaxValue), Array(7, Long.MinValue))
    assertEquals(hits.ranges, Some(noValue))
    assertEquals(new TaskHits(0).ranges, None)
  }

  test("the values of many rows are not known") {
    val hits = new TaskHits(1)
    hits.start()
    (1 to TaskHits.MostValues).foreach(i => seen(hits, i.toLong))
    assertEquals(hits.ranges, Some(new ValueRanges(Array(1), Array(TaskHits.MostValues.toLong))))
    seen(hits, 0)
    assertEquals(hits.ranges, None)
  }

  test("without the node above the filter nothing is certain") {
    val hits = new TaskHits(0)
    hits.readerOpens()
    assert(!hits.start())
    assertEquals(hits.end(), None)
  }

  test("nothing is certain any more once two readers were open at a time") {
    val hits = observed()
    assert(hits.start())
    hits.readerOpens()
    assertEquals(hits.end(), None)
    hits.readerEnds()
    hits.readerEnds()
    hits.readerOpens()
    assert(!hits.start())
  }

  test("readers that follow each other are certain") {
    val hits = observed()
    hits.readerEnds()
    hits.readerOpens()
    assert(hits.start())
    assertEquals(hits.end(), Some(0L))
  }

  test("outside of a task, the node and the readers do not meet") {
    assert(TaskHits.of(1, 0) ne TaskHits.of(1, 0))
  }
}
