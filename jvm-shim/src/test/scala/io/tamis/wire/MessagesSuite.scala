package io.tamis.wire

import java.nio.{ByteBuffer, ByteOrder}
import java.util.Base64

import org.apache.spark.sql.types.StructType

class MessagesSuite extends munit.FunSuite {
  private val conjuncts = Messages.mapper.createArrayNode().add(1).add(2)
  private val scan = ScanRequest(
    SnapshotOfFiles("f00d", "/dir", 10),
    TableOfFiles(
      "t",
      caseSensitive = false,
      Seq("file:/t"),
      Seq(PartitionColumn("p", "integer"))
    ),
    IndexSettings(enabled = true, None, 3, 2500),
    Map.empty,
    None,
    conjuncts
  )
  private val request = PlanRequest(scan, rowGroups = true)

  private def answer(
      kept: String,
      conjuncts: String =
        """[{"pushdown":"exact"},{"pushdown":"inexact","reason":{"code":"C","text":"T","fix":null}}]"""
  ) =
    s"""{"version":1,"id":"${request.id}","fingerprint":"f00d","files":10,"kept":$kept,"kept_records":7,"total_records":null,
       |"conjuncts":$conjuncts,"warnings":[{"code":"w","text":"look"}],"milliseconds":1.5}""".stripMargin

  private def refused(text: String, part: String)(implicit loc: munit.Location): Unit = {
    val failure = intercept[PlannerFailure](Messages.readAnswer(text, request))
    assert(failure.getMessage.contains(part), failure.getMessage)
  }

  test("a request contains its snapshot, table and settings") {
    val json = Messages.mapper.readTree(request.toJson)
    assertEquals(json.get("version").asInt, Messages.Version)
    assertEquals(json.at("/snapshot/fingerprint").asText, "f00d")
    assertEquals(json.at("/table/partition_columns/0/type").asText, "integer")
    assert(json.at("/index/location").isNull)
    assert(json.at("/index/automatic").isNull)
    assertEquals(json.get("row_groups").asBoolean, true)
    assert(json.get("reading").isNull)
    val withReading = request.copy(scan = scan.copy(reading = Some("""{"format":"csv"}""")))
    val reading = Messages.mapper.readTree(withReading.toJson).get("reading").asText
    assertEquals(reading, """{"format":"csv"}""")
  }

  test("an automatic index has the columns of the files and the partition columns") {
    val files = StructType.fromDDL("a LONG")
    val index = scan.index.copy(automatic = Some(AutomaticIndex(files, 5, 700)))
    val json = Messages.mapper.readTree(request.copy(scan = scan.copy(index = index)).toJson)
    val automatic = json.at("/index/automatic")
    assertEquals(automatic.get("schema").asText, files.json)
    assertEquals(automatic.get("max_files").asInt, 5)
    assertEquals(automatic.get("patience_ms").asInt, 700)
  }

  test("the goal of a join contains the scans of the other side") {
    val key = Json.obj("n" -> "col")
    val goal = JoinGoal(
      key,
      Seq(KeySource(scan.copy(snapshot = scan.snapshot.copy(fingerprint = "beef")), key)),
      None
    )
    val json = Messages.mapper.readTree(request.copy(goal = Some(goal)).toJson)
    assertEquals(json.at("/snapshot/fingerprint").asText, "f00d")
    assertEquals(json.at("/goal/sources/0/scan/snapshot/fingerprint").asText, "beef")
    assertEquals(json.at("/goal/sources/0/key"), key)
    assert(json.at("/goal/others").isNull)
  }

  test("every form of kept files is read") {
    def kept(form: String) = Messages.readAnswer(answer(form), request).kept.toString
    assertEquals(kept("""{"form":"none"}"""), "{}")
    assertEquals(kept("""{"form":"all"}"""), "{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}")
    assertEquals(kept("""{"form":"ranges","data":[[0,2],[9,10]]}"""), "{0, 1, 9}")
    assertEquals(kept("""{"form":"bitmap","data":"AwI="}"""), "{0, 1, 9}")
  }

  private def packed(bytes: Int, values: Long*): String = {
    val out = ByteBuffer.allocate(bytes * values.length).order(ByteOrder.LITTLE_ENDIAN)
    values.foreach(v => if (bytes == 4) out.putInt(v.toInt) else out.putLong(v))
    Base64.getEncoder.encodeToString(out.array)
  }

  private def withRanges(ranges: (Int, Long, Long)*): String = {
    val (files, starts, lengths) =
      (ranges.map(_._1.toLong), ranges.map(_._2), ranges.map(_._3))
    val groups =
      s"""{"files":"${packed(4, files: _*)}","starts":"${packed(8, starts: _*)}",
         |"lengths":"${packed(8, lengths: _*)}","kept":3,"total":null}""".stripMargin
    answer("""{"form":"ranges","data":[[0,2],[9,10]]}""")
      .replace("\"milliseconds\"", s"\"row_groups\":$groups,\"milliseconds\"")
  }

  test("row groups of partly kept files are read") {
    val big = 1L << 40
    val read = Messages
      .readAnswer(withRanges((0, 4, 10), (0, 14, 5), (9, big, big)), request)
      .rowGroups
      .get
    assertEquals(read.files.toSeq, Seq(0, 0, 9))
    assertEquals(read.starts.toSeq, Seq(4L, 14L, big))
    assertEquals(read.lengths.toSeq, Seq(10L, 5L, big))
    assertEquals((read.kept, read.total), (Some(3L), None))
    assertEquals(Messages.readAnswer(answer("""{"form":"all"}"""), request).rowGroups, None)
    assert(Messages.readAnswer(withRanges(), request).rowGroups.exists(_.files.isEmpty))
  }

  test("row groups that are out of order, or of files that are not kept, are rejected") {
    refused(withRanges((2, 4, 10)), "file 2")
    refused(withRanges((10, 4, 10)), "file 10")
    refused(withRanges((-1, 4, 10)), "file -1")
    refused(withRanges((0, -1, 10)), "file 0")
    refused(withRanges((0, 4, 0)), "file 0")
    refused(withRanges((0, 4, 10), (0, 13, 5)), "file 0")
    refused(withRanges((9, 4, 10), (0, 4, 10)), "file 0")
    val text = withRanges((0, 4, 10))
    refused(text.replace(packed(8, 10), packed(8, 10, 11)), "different numbers")
    val whole = request.copy(rowGroups = false)
    val unrequested = intercept[PlannerFailure](
      Messages.readAnswer(text.replace(request.id, whole.id), whole)
    )
    assert(unrequested.getMessage.contains("did not ask for"))
  }

  test("reasons, counts and warnings are read") {
    val read = Messages.readAnswer(answer("""{"form":"all"}"""), request)
    assertEquals(read.outcomes.map(_.pushdown), Seq[Pushdown](Pushdown.Exact, Pushdown.Inexact))
    assertEquals(read.outcomes(1).reason, Some(Reason("C", "T", None)))
    assertEquals(read.keptRecords, Some(7L))
    assertEquals(read.totalRecords, None)
    assertEquals(read.warnings, Seq("w" -> "look"))
  }

  test("an unknown name of a push-down or a verdict is rejected") {
    assertEquals(Seq("none", "some", "all").map(Verdict.of(_).name), Seq("none", "some", "all"))
    for (of <- Seq[String => Any](Pushdown.of, Verdict.of)) {
      val failure = intercept[PlannerFailure](of("maybe"))
      assert(failure.getMessage.contains("'maybe'"), failure.getMessage)
    }
  }

  test("an answer that is malformed or belongs to another question is rejected") {
    val all = """{"form":"all"}"""
    refused("", "not")
    refused("{", "not JSON")
    refused("[]", "not a JSON object")
    refused(
      s"""{"version":1,"id":"${request.id}","error":{"code":"c","text":"no luck"}}""",
      "no luck"
    )
    refused(answer(all).replace("f00d", "beef"), "fingerprint")
    refused(answer(all).replace(request.id, "q2"), "id")
    refused(answer(all).replace("\"version\":1", "\"version\":2"), "version")
    refused(answer(all).replace("\"files\":10", "\"files\":11"), "files")
    refused(answer(all, "[]"), "conjuncts")
    refused(answer(all, """[{"pushdown":"maybe"},{"pushdown":"exact"}]"""), "maybe")
    refused(answer("""{"form":"bitmap","data":"Aw=="}"""), "bitmap")
    refused(answer("""{"form":"bitmap","data":"AP8="}"""), "keeps file 15")
    refused(answer("""{"form":"ranges","data":[[5,11]]}"""), "range")
    refused(answer("""{"form":"ranges","data":[[5,4]]}"""), "range")
    refused(answer("""{"form":"most"}"""), "most")
  }

  test("a request for implied ranges is written, and its answer is read") {
    val question = ImpliedRequest(conjuncts)
    assertEquals(
      question.toJson,
      s"""{"version":${Messages.Version},"id":"${question.id}","conjuncts":[1,2]}"""
    )
    val ranges = question.read(s"""{"version":1,"id":"${question.id}","implied":[{}]}""")
    assertEquals(ranges.size, 1)
    for (
      (text, part) <- Seq(
        """{"version":1,"id":"q1","implied":[]}""" -> "has id 'q1'",
        s"""{"version":1,"id":"${question.id}"}""" -> "no 'implied'",
        s"""{"id":"${question.id}","error":{"code":"c","text":"no luck"},"version":1}""" -> "no luck"
      )
    ) {
      val failure = intercept[PlannerFailure](question.read(text))
      assert(failure.getMessage.contains(part), failure.getMessage)
    }
  }
}
