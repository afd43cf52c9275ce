package io.tamis.bridge

import java.nio.file.Paths

class SidecarPythonSuite extends munit.FunSuite {
  private def interpreters(root: String): Seq[String] =
    SidecarPython.interpreters(Paths.get(root)).map(_.toString)

  test("an installed package runs with the Python of its environment") {
    assertEquals(
      interpreters("/opt/venv/lib/python3.12/site-packages"),
      Seq("/opt/venv/bin/python3.12", "/opt/venv/bin/python")
    )
    assertEquals(interpreters("/usr/lib64/python3.13/site-packages").head, "/usr/bin/python3.13")
  }

  test("a checkout runs with its own environment") {
    assertEquals(interpreters("/home/me/tamis/python"), Seq("/home/me/tamis/.venv/bin/python"))
  }

  test("any other layout has no interpreter") {
    Seq("/", "/data", "/work/a/b/c", "/usr/lib/python3/dist-packages", "/x/site-packages")
      .foreach(root => assertEquals(interpreters(root), Nil, root))
  }
}
