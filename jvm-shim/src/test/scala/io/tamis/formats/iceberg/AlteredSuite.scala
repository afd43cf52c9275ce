package io.tamis.formats.iceberg

import java.util

class AlteredSuite extends munit.FunSuite {
  import AlteredSuite._

  private val loader = getClass.getClassLoader

  private def altered(target: AnyRef)(changed: (String, AnyRef) => AnyRef): Named =
    Altered(loader, Seq(classOf[Named].getName), target)(changed).asInstanceOf[Named]

  test("what a function changes of the results, and what it does not") {
    val one = altered(new Plain("a"))((method, r) => if (method == "size") Int.box(7) else r)
    assertEquals((one.size, one.name), (7, "a"))
  }

  test("an object that returns itself returns what it was altered to") {
    val one = altered(new Plain("a"))((method, r) => if (method == "name") "b" else r)
    assertEquals(one.itself.name, "b")
  }

  test("errors are those of the object") {
    intercept[IllegalStateException](altered(new Plain("a"))((_, r) => r).fail())
  }

  test("the object itself is found, and others are left as they are") {
    val plain = new Plain("a")
    val one = altered(plain)((_, r) => r)
    assert(Altered.original(one) eq plain)
    assert(Altered.original(plain) eq plain)
    val foreign = java.lang.reflect.Proxy.newProxyInstance(
      loader,
      Array(classOf[util.List[AnyRef]]),
      (_: Any, _: java.lang.reflect.Method, _: Array[AnyRef]) => null
    )
    assert(Altered.original(foreign) eq foreign)
  }
}

object AlteredSuite {
  trait Named {
    def name: String
    def size: Int
    def itself: Named
    def fail(): Unit
  }

  class Plain(override val name: String) extends Named {
    override def size: Int = 1
    override def itself: Named = this
    override def fail(): Unit = throw new IllegalStateException("of the object")
  }
}
