package io.tamis.formats.delta

import io.tamis.wire.DeltaSnapshot
import java.nio.file.Paths

import scala.collection.mutable
import scala.sys.process.Process

class SnapshotFilesSuite extends munit.FunSuite {

  /** What a program answers in a driver with a small heap. */
  private lazy val answers: Map[String, String] = {
    val java = Paths.get(sys.props("java.home"), "bin", "java").toString
    val classPath = sys.props("java.class.path")
    val main = SmallHeap.getClass.getName.stripSuffix("$")
    Process(Seq(java, "-Xmx64m", "-cp", classPath, main)).lazyLines.collect {
      case s"$what: $answer" => what -> answer
    }.toMap
  }

  test("a large snapshot is listed by its second query, or by one that reads all files") {
    assertEquals(answers("first query"), "left")
    assertEquals(answers("second query"), "listed")
    assertEquals(answers("third query"), "kept")
    assertEquals(answers("whole"), "listed")
    assertEquals(answers("few files"), "listed")
  }

  test("snapshots make room for those that were read later") {
    assertEquals(answers("newest"), "kept")
    assertEquals(answers("oldest"), "listed")
  }

  test("a snapshot without room is left to Delta") {
    assertEquals(answers("too many"), "left")
  }

  test("files are dropped before the heap is full") {
    assertEquals(answers("after the heap was full"), "listed")
  }
}

/** Asks for the files of snapshots whose entries are as large as those of Delta. */
object SmallHeap {
  final case class Size(
      bytes: Option[Long],
      rows: Option[Long],
      files: Option[Long],
      logicalRows: Option[Long]
  )
  final case class Entry(path: String, size: Long, rest: Array[Byte])
  final class Scan(val files: Seq[Entry]) {
    def version: Long = 0
    def dataSkippingType: String = "none"
    def total: Size = Size(None, None, None, None)
  }

  private def asked(snapshot: Int, files: Int, isWhole: Boolean = false): String = {
    val version = SnapshotFiles.Version(
      DeltaSnapshot(snapshot.toLong, "file:/t", Nil, Nil, "", "{}", "none", Nil),
      Some(files.toLong)
    )
    var isListed = false
    val found = SnapshotFiles.of(version, isWhole) {
      isListed = true
      new Scan((0 until files).map(n => Entry(n.toString, 1, new Array(1000))))
    }
    if (isListed) "listed" else if (found.isEmpty) "left" else "kept"
  }

  private def fill(): Unit =
    try {
      val all = mutable.Buffer.empty[Array[Byte]]
      while (true) all += new Array[Byte](100000)
    } catch { case _: OutOfMemoryError => () }

  def main(arguments: Array[String]): Unit = {
    val many = (SnapshotFiles.Most * 2 / 3).toInt
    val steps = Seq[(String, () => String)](
      "first query" -> (() => asked(1, many)),
      "second query" -> (() => asked(1, many)),
      "third query" -> (() => asked(1, many)),
      "whole" -> (() => asked(2, many, isWhole = true)),
      "newest" -> (() => asked(2, many)),
      "oldest" -> (() => asked(1, many)),
      "too many" -> (() => asked(3, SnapshotFiles.Most.toInt + 1, isWhole = true)),
      "few files" -> (() => asked(4, 5)),
      "after the heap was full" -> (() => { fill(); asked(1, many) })
    )
    steps.foreach { case (what, answer) => println(s"$what: ${answer()}") }
  }
}
