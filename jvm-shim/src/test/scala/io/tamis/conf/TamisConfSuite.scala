package io.tamis.conf

import scala.util.Try

import org.apache.spark.sql.internal.SQLConf

class TamisConfSuite extends munit.FunSuite {
  TamisConf.register

  private def session(confs: (String, String)*): SQLConf = {
    val conf = new SQLConf
    confs.foreach { case (key, value) => conf.setConfString(key, value) }
    conf
  }

  private def application(confs: (String, String)*): SQLConf =
    TamisConf.ofApplication(confs.toMap.get)

  test("the default of every entry of the registry can be read") {
    TamisConf.entries.foreach(_(session()))
  }

  test("defaults") {
    val conf = session()
    assertEquals(TamisConf.mode(conf), Mode.Apply: Mode)
    assertEquals(TamisConf.timeoutMs(conf), 5000L)
    assertEquals(TamisConf.startTimeoutMs(conf), 20000L)
    assertEquals(TamisConf.residualSplitMinSavedMs(conf), 200L)
    assertEquals(TamisConf.historyMaxAgeMs(conf), 90L * 24 * 3600 * 1000)
    assertEquals(TamisConf.historyMaxSizeBytes(conf), 64L << 20)
    assertEquals(TamisConf.python(conf), None)
    assertEquals(TamisConf.requireFilter(conf), Nil)
  }

  test("enabled=false and mode=off are the same mode, in upper or lower case, and with spaces") {
    Seq(
      Nil -> Mode.Apply,
      Seq("spark.tamis.enabled" -> " TRUE ") -> Mode.Apply,
      Seq("spark.tamis.enabled" -> "False") -> Mode.Off,
      Seq("spark.tamis.mode" -> "off") -> Mode.Off,
      Seq("spark.tamis.mode" -> " OFF ") -> Mode.Off,
      Seq("spark.tamis.mode" -> "Observe") -> Mode.Observe,
      Seq("spark.tamis.mode" -> "off", "spark.tamis.enabled" -> "true") -> Mode.Off,
      Seq("spark.tamis.mode" -> "observe", "spark.tamis.enabled" -> "false") -> Mode.Off
    ).foreach { case (confs, mode) =>
      assertEquals(TamisConf.mode(session(confs: _*)), mode: Mode, confs)
      assertEquals(TamisConf.mode(application(confs: _*)), mode: Mode, confs)
      assertEquals(TamisConf.offSwitch(session(confs: _*)).nonEmpty, mode == Mode.Off, confs)
    }
  }

  test("what is turned off is in the mode Off") {
    val conf = session("spark.tamis.mode" -> "observe")
    TamisConf.turnOff(conf)
    assertEquals(TamisConf.mode(conf), Mode.Off: Mode)
  }

  test("the fix for the mode Off leaves it") {
    for {
      by <- Seq("spark.tamis.enabled" -> "false", "spark.tamis.mode" -> "off")
      conf = session(by)
      switch <- TamisConf.offSwitch(conf)
    } {
      assertEquals(switch.key -> switch.value, by)
      conf.setConfString(switch.key, switch.on)
      assertEquals(TamisConf.mode(conf), Mode.Apply: Mode)
    }
  }

  test("times and sizes have units, as Spark's own confs do") {
    Seq("250" -> 250L, "250ms" -> 250L, "5s" -> 5000L, " 2MIN " -> 120000L, "1h" -> 3600000L)
      .foreach { case (text, ms) =>
        assertEquals(TamisConf.timeoutMs(session("spark.tamis.timeout" -> text)), ms, text)
      }
    Seq("2" -> 172800000L, "36h" -> 129600000L).foreach { case (text, ms) =>
      val conf = session("spark.tamis.history.maxAge" -> text)
      assertEquals(TamisConf.historyMaxAgeMs(conf), ms, text)
    }
    Seq("2" -> (2L << 20), "2m" -> (2L << 20), "1500kb" -> (1500L << 10), "3G" -> (3L << 30))
      .foreach { case (text, bytes) =>
        val conf = session("spark.tamis.history.maxSize" -> text)
        assertEquals(TamisConf.historyMaxSizeBytes(conf), bytes, text)
      }
  }

  test("a value that is not allowed is refused, with the key and what is allowed") {
    Seq(
      ("spark.tamis.timeout", "soon", "must be a time of at least"),
      ("spark.tamis.timeout", "0", "at least 1ms"),
      ("spark.tamis.timeout", "500us", "at least 1ms"),
      ("spark.tamis.timeoutMs", "5 s", "must be a time of at least"),
      ("spark.tamis.history.maxSize", "1.5g", "must be a size of at least"),
      ("spark.tamis.history.maxSize", "900k", "at least 1m"),
      ("spark.tamis.mode", "on", "must be one of apply, observe, off"),
      ("spark.tamis.audit", "-1", "must be a whole number of at least 0"),
      ("spark.tamis.impliedFilters", "maybe", "'boolean' value")
    ).foreach { case (key, value, allowed) =>
      val refusal = Try(session(key -> value)).failed.get.getMessage
      assert(refusal.contains(key) && refusal.contains(allowed), refusal)
    }
  }

  test("a value that is not allowed counts as not set when the application starts") {
    assertEquals(TamisConf.mode(application("spark.tamis.mode" -> "sometimes")), Mode.Apply: Mode)
    val conf = application("spark.tamis.startTimeout" -> "soon")
    assertEquals(TamisConf.startTimeoutMs(conf), 20000L)
  }

  test("the start timeout is the one that the application sets, by either key") {
    Seq("spark.tamis.startTimeout" -> "1234ms", "spark.tamis.startTimeoutMs" -> "1234").foreach {
      set => assertEquals(TamisConf.startTimeoutMs(application(set)), 1234L, set)
    }
  }

  test("an alternative key applies if the key itself is not set") {
    val others = TamisConf.entries.flatMap(_.alternatives)
    assertEquals(others.distinct.size, 7)
    assert(others.intersect(TamisConf.entries.map(_.key)).isEmpty)
    val (age, days) = ("spark.tamis.history.maxAge", "spark.tamis.history.maxAgeDays")
    val day = 24L * 3600 * 1000
    assertEquals(TamisConf.historyMaxAgeMs(session(days -> "7")), 7 * day)
    assertEquals(TamisConf.historyMaxAgeMs(session(days -> "7", age -> "2d")), 2 * day)
    val implied = session("spark.tamis.impliedFilters" -> "false")
    assert(!TamisConf.impliedFiltersEnabled(implied))
    val cached = session("spark.tamis.cache.dir" -> "/a", "spark.tamis.cache.location" -> "")
    assertEquals(TamisConf.cacheLocation(cached), None)
    cached.unsetConf("spark.tamis.cache.location")
    assertEquals(TamisConf.cacheLocation(cached), Some("/a"))
  }

  test("predicates are separated by commas outside of brackets and quotes") {
    Seq(
      "" -> Nil,
      " a , b < 24," -> Seq("a", "b < 24"),
      "a; b" -> Seq("a", "b"),
      "x IN (1, 2), f(a, g(b, c)) = m[1]" -> Seq("x IN (1, 2)", "f(a, g(b, c)) = m[1]"),
      "s = 'a, b', `c,d` > 1" -> Seq("s = 'a, b'", "`c,d` > 1"),
      "s = 'it''s, ;', b" -> Seq("s = 'it''s, ;'", "b"),
      "s = 'a\\', b', c" -> Seq("s = 'a\\', b'", "c"),
      "`a\\`, b" -> Seq("`a\\`", "b"),
      "s = \"a, b\", c" -> Seq("s = \"a, b\"", "c"),
      "a), b" -> Seq("a)", "b")
    ).foreach { case (text, parts) =>
      val conf = session("spark.tamis.assertPruned" -> text)
      assertEquals(TamisConf.assertPruned(conf), parts, text)
    }
  }
}
