package io.tamis.formats.iceberg

import io.tamis.listing.Listing
import io.tamis.planning.FileSelection
import java.util

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import org.apache.spark.sql.connector.expressions.{Expressions, SortDirection, SortOrder}
import org.apache.spark.sql.connector.read.{Scan, SupportsReportOrdering}
import org.apache.spark.sql.types.StructType

/** A scan of Iceberg whose class is not known plans the whole snapshot, and not some manifests. */
class IcebergScanSuite extends munit.FunSuite {
  import IcebergScanSuite._

  /** The files of the manifests `m0` and `m1`, or all of the snapshot. */
  private def files(isWhole: Boolean): IcebergFiles = {
    val listed = Option.when(!isWhole)(new ObjectNode(JsonNodeFactory.instance))
    val manifestOf = Array(0, 0, 1)
    new IcebergFiles(null, Array("/a", "/b", "/c"), IndexedSeq("/m0", "/m1"), manifestOf, listed)
  }

  /** The files that a scan reads, if tamis keeps those at these places of the listing. */
  private def read(
      of: IcebergFiles,
      kept: Seq[Int],
      planned: Seq[(String, String)]
  ): Seq[String] = {
    val scan = new UnknownScan(tasksOf(planned))
    assertEquals(confined(of, kept, scan).statistics, None) // confines the scan
    scan.tasks.asScala.toSeq.map(_.asInstanceOf[Task].file.location)
  }

  private def tasksOf(planned: Seq[(String, String)]): Seq[Task] =
    planned.map { case (file, manifest) => new Task(new File(file, manifest)) }

  private def confined(of: IcebergFiles, kept: Seq[Int], scan: Scan): IcebergScan = {
    val listing = Listing.recorded(Array("/a", "/b", "/c"), Array(1L, 1L, 1L), 0L)
    val bits = new util.BitSet
    kept.foreach(bits.set)
    new IcebergScan("t", of, FileSelection.of(listing, bits), lacksFilters = true, () => scan)
  }

  private val listed = Seq("/a" -> "/m0", "/b" -> "/m0", "/c" -> "/m1")

  test("files of manifests that are not listed are not read") {
    val planned = listed ++ Seq("/d" -> "/m2", "/e" -> "/m3")
    assertEquals(read(files(isWhole = false), Seq(1, 2), planned), Seq("/b", "/c"))
    assertEquals(read(files(isWhole = false), Seq(0, 1, 2), planned), Seq("/a", "/b", "/c"))
    assertEquals(read(files(isWhole = false), Nil, planned), Nil)
  }

  test("a file that is in two manifests is read as the listed one has it") {
    val planned = Seq("/a" -> "/m2") ++ listed :+ "/b" -> "/m3"
    assertEquals(read(files(isWhole = false), Seq(0, 2), planned), Seq("/a", "/c"))
    assertEquals(read(files(isWhole = false), Seq(2), planned), Seq("/c"))
  }

  test("a file that a listed manifest should have is an error") {
    val planned = listed :+ "/d" -> "/m1"
    intercept[IllegalStateException](read(files(isWhole = false), Seq(1), planned))
  }

  test("so is a file that the snapshot should have, and one whose manifest is not known") {
    intercept[IllegalStateException](read(files(isWhole = true), Seq(1), listed :+ "/d" -> "/m2"))
    intercept[IllegalStateException](read(files(isWhole = false), Seq(1), listed :+ "/d" -> null))
  }

  test("the order of rows is the one that Iceberg reports for the kept files") {
    def ordering(kept: Int*) =
      confined(files(isWhole = true), kept, new OrderedScan(tasksOf(listed))).ordering
    assertEquals(ordering(1), Seq(ByKey))
    assertEquals(ordering(0, 1), Nil)
    val unordered = new UnknownScan(tasksOf(listed))
    assertEquals(confined(files(isWhole = true), Seq(1), unordered).ordering, Nil)
  }
}

object IcebergScanSuite {
  final class File(val location: String, val manifestLocation: String)
  final class Task(val file: File)

  class UnknownScan(planned: Seq[Task]) extends Scan {
    private var current: util.List[AnyRef] = new util.ArrayList(planned.asJava)
    def tasks: util.List[AnyRef] = current
    def resetTasks(to: util.List[AnyRef]): Unit = current = to
    def scan: AnyRef = this
    override def readSchema(): StructType = new StructType
  }

  val ByKey: SortOrder = Expressions.sort(Expressions.column("k"), SortDirection.ASCENDING)

  /** Reports an order of rows if it reads a single file. */
  final class OrderedScan(planned: Seq[Task])
      extends UnknownScan(planned)
      with SupportsReportOrdering {
    override def outputOrdering(): Array[SortOrder] =
      if (tasks.size == 1) Array(ByKey) else Array.empty
  }
}
