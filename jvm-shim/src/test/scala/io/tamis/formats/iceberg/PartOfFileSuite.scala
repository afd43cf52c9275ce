package io.tamis.formats.iceberg

import io.tamis.formats.Members
import java.util

import scala.jdk.CollectionConverters._

import org.apache.iceberg._

/** Over classes with the members of Iceberg's; tests/formats has those over Iceberg's own. */
class PartOfFileSuite extends munit.FunSuite {
  private val parquet = new DataFile("PARQUET", 100)
  private val ranges = Seq(4L -> 10L, 14L -> 6L, 50L -> 5L)

  private def split(task: AnyRef): Seq[(Long, Long)] =
    Members
      .get[util.List[FileScanTask]](task, "split", Long.box(1000))
      .asScala
      .toSeq
      .map(part => part.start -> part.length)

  test("a task splits into the ranges, with the task itself as their parent") {
    val whole = new BaseFileScanTask(parquet, 0, 100)
    val part = PartOfFile.of(whole, ranges).get.asInstanceOf[FileScanTask]
    assertEquals(split(part), ranges)
    assertEquals((part.start, part.length), (4L, 21L))
    // 30 bytes of deletes
    assertEquals((part.sizeBytes, part.estimatedRowsCount), (51L, 21L))
    assert(part.file eq parquet)
    val parents = part.split(1).asScala.map(Members.field(_, "parent"))
    assert(parents.forall(_ eq whole))
  }

  test("tasks that do not read a whole Parquet file are not confined") {
    for {
      task <- Seq[AnyRef](
        new BaseFileScanTask(new DataFile("ORC", 100), 0, 100),
        new BaseFileScanTask(parquet, 4, 96),
        new BaseFileScanTask(parquet, 0, 50),
        new BaseTable
      )
    } assertEquals(PartOfFile.of(task, ranges), None)
  }

  test("a release whose splits are made in another way") {
    assert(PartOfFile.isKnown(getClass.getClassLoader))
    assert(!PartOfFile.isKnown(ClassLoader.getPlatformClassLoader))
  }
}
