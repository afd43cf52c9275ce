package io.tamis.remember

class TaskHitsSuite extends munit.FunSuite {
  private def observed(): TaskHits = {
    val hits = new TaskHits
    hits.observe()
    hits.readerOpens()
    hits
  }

  test("a row that passes belongs to the file that is read") {
    val hits = observed()
    assert(hits.start())
    hits.note()
    hits.note()
    assertEquals(hits.end(), Some(2L))
    assert(hits.start())
    assertEquals(hits.end(), Some(0L))
  }

  test("without the node above the filter nothing is certain") {
    val hits = new TaskHits
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
    assert(TaskHits.of(1) ne TaskHits.of(1))
  }
}
