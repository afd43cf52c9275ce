package io.tamis.formats

class MembersSuite extends munit.FunSuite {
  import MembersSuite._

  private val derived = new Derived

  test("members are found whatever their visibility and class") {
    assertEquals(Members.get[String](derived, "open", "x"), "open x")
    assertEquals(Members.get[String](derived, "hidden"), "hidden")
    assertEquals(Members.field(derived, "kept"), "of the subclass": AnyRef)
    assertEquals(Members.field(derived, "inherited"), "inherited": AnyRef)
  }

  test("methods of a class that is not public are found") {
    assertEquals(Members.get[Int](java.util.List.of("a", "b"), "size"), 2)
  }

  test("a static method is chosen by the types of its parameters") {
    val loader = getClass.getClassLoader
    assertEquals(
      Members.callStatic(loader, "java.lang.String", "valueOf", "x"),
      "x": AnyRef
    )
  }

  test("a member that does not exist raises what callers expect") {
    intercept[NoSuchMethodException](Members.call(derived, "open"))
    intercept[NoSuchMethodException](Members.call(derived, "missing"))
    intercept[NoSuchFieldException](Members.field(derived, "missing"))
    intercept[NoSuchMethodException](
      Members.callStatic(getClass.getClassLoader, "java.lang.String", "missing")
    )
  }
}

object MembersSuite {
  class Base {
    private val kept = "of the base class"
    private val inherited = "inherited"
    protected def hidden(): String = "hidden"
    def all: String = kept + inherited
  }
  class Derived extends Base {
    private val kept = "of the subclass"
    def open(text: String): String = s"open $text"
    override def all: String = kept
  }
}
