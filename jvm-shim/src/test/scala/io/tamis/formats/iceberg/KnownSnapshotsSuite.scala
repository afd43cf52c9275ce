package io.tamis.formats.iceberg

import io.tamis.wire.IcebergSnapshot

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import org.apache.hadoop.fs.Path

class KnownSnapshotsSuite extends munit.FunSuite {
  import KnownSnapshots._

  private def key(id: Long): Key = (
    "application",
    new Path("/t"),
    IcebergSnapshot(2, Some(id), Some("/t/list.avro"), "{}", Nil, None, None)
  )

  private def files(part: Option[Int]): IcebergFiles = {
    val listed = part.map(n => new ObjectNode(JsonNodeFactory.instance).put("bits", n))
    new IcebergFiles(null, Array("/t/a.parquet"), IndexedSeq("/t/m.avro"), Array(0), listed)
  }

  /** Snapshots, and the seconds of a clock at which they are listed again. */
  private final class Attempts {
    var now = 0L
    val known = new KnownSnapshots(() => now * 1000 * 1000 * 1000)

    def listedAt(seconds: Seq[Int], id: Long = 1)(outcome: Int => Outcome): Seq[Int] =
      seconds.filter { second =>
        now = second.toLong
        var isListed = false
        known.getOrElse(key(id)) { _ => isListed = true; outcome(second) }: Unit
        isListed
      }
  }

  private def fails(retry: Retry)(second: Int): Outcome = Outcome(Left("no route to host"), retry)

  test("a failure of the storage is tried again after a second, and then less and less often") {
    assertEquals(
      new Attempts().listedAt(0 to 200)(fails(Soon)),
      Seq(0, 1, 3, 7, 15, 31, 63, 123, 183)
    )
  }

  test("other failures are tried again after a minute, and what is still read at once") {
    assertEquals(new Attempts().listedAt(0 to 130)(fails(Late)), Seq(0, 60, 120))
    assertEquals(new Attempts().listedAt(0 to 3)(fails(AtOnce)), Seq(0, 1, 2, 3))
  }

  test("a success ends the failure") {
    val attempts = new Attempts
    val at = attempts.listedAt(0 to 40) { second =>
      if (second == 7) Outcome(Right(files(Some(1))), Late) else fails(Soon)(second)
    }
    assertEquals(at, Seq(0, 1, 3, 7, 8, 9, 11, 15, 23, 39))
  }

  test("a snapshot fails alone") {
    val attempts = new Attempts
    assertEquals(attempts.listedAt(Seq(0), id = 1)(fails(Late)), Seq(0))
    assertEquals(attempts.listedAt(Seq(0, 1), id = 2)(fails(Late)), Seq(0))
  }

  test("a whole listing serves every query, and a part only those that ask for it") {
    val attempts = new Attempts
    val whole = files(None)
    assertEquals(
      attempts.listedAt(0 to 3)(n => Outcome(Right(if (n < 2) files(Some(n)) else whole), Late)),
      Seq(0, 1, 2)
    )
    assertEquals(attempts.known.getOrElse(key(1))(_ => fails(Late)(0)), Right(whole))
  }
}
