package io.tamis.wire

class ReasonsSuite extends munit.FunSuite {

  test("templates are filled as in Python") {
    val why =
      Reasons("TAMIS_IS_OFF", "key" -> "spark.tamis.mode", "value" -> "off", "on" -> "apply")
    assertEquals(why.text, "spark.tamis.mode is off")
    assertEquals(why.fix, Some("SET spark.tamis.mode = apply"))
    val braces = Reasons("FOOTERS_WITHOUT_STATISTICS", "column" -> "$1 {x}")
    assert(braces.fix.exists(_.endsWith("""add(columns={"$1 {x}": "bounds"})""")), braces)
  }

  test("a reason may have no fix") {
    assertEquals(Reasons("BUCKETED"), Reason("BUCKETED", "it is bucketed", None))
    assertEquals(Reasons("AND_KEEPS_BRANCH", "because" -> "b", "then" -> "").fix, None)
  }

  test("unknown codes and missing arguments do not throw") {
    assertEquals(Reasons("NO_SUCH_CODE"), Reason("NO_SUCH_CODE", "NO_SUCH_CODE", None))
    assertEquals(Reasons("PLANNER_FAILED").text, "?")
  }

  test("the registry says which reasons are coarse") {
    assertEquals(Reasons.coarse, Set("RANGES_OVERLAP", "VALUES_MIXED"))
  }
}
