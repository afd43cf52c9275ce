package io.tamis.conf

class TamisConfSuite extends munit.FunSuite {
  TamisConf.register

  private def enabled(confs: (String, String)*): Boolean =
    TamisConf.enabled(TamisConf.ofApplication(confs.toMap.get))

  test("tamis is on by default, and either conf turns it off, in upper or lower case") {
    assert(enabled())
    assert(enabled("spark.tamis.enabled" -> "TRUE"))
    assert(!enabled("spark.tamis.enabled" -> "False"))
    assert(!enabled("spark.tamis.mode" -> "off"))
    assert(enabled("spark.tamis.mode" -> "observe"))
  }

  test("a value that is not allowed counts as not set") {
    assert(enabled("spark.tamis.mode" -> "sometimes"))
    val conf = TamisConf.ofApplication(Map("spark.tamis.startTimeoutMs" -> "soon").get)
    assertEquals(TamisConf.startTimeoutMs(conf), 20000L)
  }

  test("the start timeout is the one that the application sets") {
    val conf = TamisConf.ofApplication(Map("spark.tamis.startTimeoutMs" -> "1234").get)
    assertEquals(TamisConf.startTimeoutMs(conf), 1234L)
  }
}
