package io.tamis.wire

class RemoteMessagesSuite extends munit.FunSuite {
  private val question = RemoteTasksQuestion("tamis.airport", Map("token" -> "secret"), "{}")

  private def refused(text: String)(implicit loc: munit.Location): Unit = {
    intercept[PlannerFailure](RemoteTasks.read(text, question)): Unit
  }

  test("a question about tasks contains its options, and its text does not") {
    val json = Messages.mapper.readTree(question.copy(seconds = Some(1.5)).toJson)
    assertEquals(json.at("/options/token").asText, "secret")
    assertEquals(json.get("seconds").asDouble, 1.5)
    assert(!question.toString.contains("secret"))
  }

  test("a question about a source contains keys of storage, and its text does not") {
    val keys = Map("fs.s3a.secret.key" -> "secret")
    val conjuncts = Messages.mapper.createArrayNode()
    val about = RemoteQuestion("tamis.airport", keys, 1.5, conjuncts, Nil, keys)
    val json = Messages.mapper.readTree(about.toJson)
    assertEquals(json.get("storage").get("fs.s3a.secret.key").asText, "secret")
    assert(!about.toString.contains("secret"))
  }

  test("tasks are read from base64") {
    val tasks = RemoteTasks.read(
      s"""{"version":1,"id":"${question.id}","program":"p","reader":"AQI=","tasks":["Aw==","BA=="],
        |"problem":null,"is_late":false}""".stripMargin,
      question
    )
    assertEquals((tasks.program, tasks.problem, tasks.isLate), ("p", None, false))
    assertEquals(tasks.reader.toSeq, Seq[Byte](1, 2))
    assertEquals(tasks.tasks.map(_.toSeq), Seq(Seq[Byte](3), Seq[Byte](4)))
  }

  test("a problem or a late answer has no tasks") {
    val problem =
      RemoteTasks.read(s"""{"version":1,"id":"${question.id}","problem":"no server"}""", question)
    assertEquals((problem.problem, problem.tasks), (Some("no server"), Nil))
    assert(
      RemoteTasks.read(s"""{"version":1,"id":"${question.id}","is_late":true}""", question).isLate
    )
  }

  test("an answer without tasks, or to another question, is a failure") {
    refused(s"""{"version":1,"id":"${question.id}"}""")
    refused(s"""{"version":1,"id":"${question.id}","reader":"AQI=","tasks":"AQI="}""")
    refused("""{"version":1,"id":"q2","reader":"AQI=","tasks":[]}""")
    refused(s"""{"version":2,"id":"${question.id}","reader":"AQI=","tasks":[]}""")
    refused(s"""{"version":1,"id":"${question.id}","reader":"no base64!","tasks":[]}""")
    refused("no document")
  }
}
