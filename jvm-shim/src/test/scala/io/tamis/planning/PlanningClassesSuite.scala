package io.tamis.planning

class PlanningClassesSuite extends munit.FunSuite {
  test("every prefix of a path names classes") {
    PlanningClasses.all.foreach { part =>
      part.prefixes.foreach { prefix =>
        assert(PlanningClasses.names(part.copy(prefixes = Seq(prefix))).nonEmpty, clue(prefix))
      }
    }
  }

  test("all of them can be loaded and verified") {
    for (part <- PlanningClasses.all; name <- PlanningClasses.names(part))
      assert(Class.forName(name, false, getClass.getClassLoader).getDeclaredMethods != null)
  }

  test("loading ends when it is no longer wanted") {
    var left = 3
    PlanningClasses.load { left -= 1; left > 0 }
    assertEquals(left, 0)
  }
}
