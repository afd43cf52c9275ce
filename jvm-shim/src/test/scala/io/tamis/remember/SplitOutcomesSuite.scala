package io.tamis.remember

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

class SplitOutcomesSuite extends munit.FunSuite {
  private def split(name: String, start: Long, length: Long) =
    PartitionedFile(InternalRow.empty, SparkPath.fromUrlString(s"file:/t/$name"), start, length)

  private def partition(index: Int, files: PartitionedFile*) =
    FilePartition(index, files.toArray)

  /** `a` lies in both partitions, `b` and `c` in one. */
  private val partitions = Seq(
    partition(0, split("a", 0, 10), split("b", 0, 5)),
    partition(1, split("a", 10, 10), split("c", 0, 5))
  )

  private def found(outcomes: (Int, Int, Boolean)*): Set[String] = {
    val all = new SplitOutcomes
    outcomes.foreach { case (p, i, isHit) => all.add(p -> PartitionOutcome.of(i, isHit)) }
    Splits.filesWithoutHit(partitions, all.value).map(_.stripPrefix("file:/t/"))
  }

  test("a file counts only if all of its splits were read to their end without a hit") {
    assertEquals(found(), Set.empty[String])
    assertEquals(found((0, 0, false)), Set.empty[String])
    assertEquals(found((0, 0, false), (1, 0, false)), Set("a"))
    assertEquals(found((0, 0, false), (1, 0, true)), Set.empty[String])
    assertEquals(found((0, 1, false), (1, 1, true)), Set("b"))
  }

  test("a hit in one attempt of a task outweighs another attempt, in any order") {
    assertEquals(found((0, 1, true), (0, 1, false)), Set.empty[String])
    assertEquals(found((0, 1, false), (0, 1, true)), Set.empty[String])
    assertEquals(found((0, 1, false), (0, 1, false)), Set("b"))
  }

  test("merging accumulators unites what they found, and changes neither of their parts") {
    val (one, other) = (new SplitOutcomes, new SplitOutcomes)
    one.add(0 -> PartitionOutcome.of(0, isHit = false))
    other.add(0 -> PartitionOutcome.of(1, isHit = true))
    other.add(1 -> PartitionOutcome.of(1, isHit = false))
    val before = one.copy()
    one.merge(other)
    assertEquals(one.value.keySet, Set(0, 1))
    assertEquals(one.value(0).ended.cardinality, 2)
    assertEquals(one.value(0).hit.cardinality, 1)
    assertEquals(before.value(0).ended.cardinality, 1)
    assert(!one.isZero)
    one.reset()
    assert(one.isZero)
  }

  test("partitions with the same number say nothing") {
    assertEquals(Splits.of(Seq(partition(0), partition(0))), None)
  }
}
