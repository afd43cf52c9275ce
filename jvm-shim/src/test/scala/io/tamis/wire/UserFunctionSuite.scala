package io.tamis.wire

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, StaticInvoke}
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction
import org.apache.spark.sql.types._

class UserFunctionSuite extends munit.FunSuite {
  private val writer = new ExpressionWriter(Set.empty)
  private val i = AttributeReference("i", IntegerType)()
  private val halve = (x: Int) => x / 2

  private def written(e: Expression): String = writer.write(e).toString
  private def scala(name: Option[String], deterministic: Boolean = true): ScalaUDF =
    ScalaUDF(
      halve,
      IntegerType,
      Seq(KnownNotNull(i)),
      udfName = name,
      udfDeterministic = deterministic
    )

  test("a Scala function is written with its name, arguments and type") {
    val udf = scala(Some("halve"))
    val document = writer.write(EqualTo(If(IsNull(i), Literal(null, IntegerType), udf), Literal(3)))
    val called = document.at("/a/0/a/2")
    assertEquals(called.get("n").asText, "call")
    assertEquals(called.get("f").asText, "udf:halve")
    assertEquals(called.get("t").asText, "integer")
    assertEquals(called.at("/a/0/f").asText, "KnownNotNull")
    assertEquals(called.at("/a/0/a/0/p/0").asText, "i")
    assert(called.get("o") == null)
  }

  test("a function that has no name or is not deterministic is opaque") {
    assertEquals(writer.write(scala(None)).get("n").asText, "opaque")
    assertEquals(writer.write(scala(Some("f"), deterministic = false)).get("n").asText, "opaque")
  }

  test("no user-defined function is evaluated on partition values") {
    assert(!ExpressionWriter.isPlain(scala(Some("halve"))))
  }

  test("a catalog function is written with its name, however it is called") {
    val function = new Halve
    val calls = Seq(
      ApplyFunctionExpression(function, Seq(i)),
      Invoke(
        Literal.create(function, ObjectType(classOf[Halve])),
        "invoke",
        IntegerType,
        Seq(i),
        Seq(IntegerType)
      ),
      StaticInvoke(
        classOf[Halve],
        IntegerType,
        "invoke",
        Seq(i),
        Seq(IntegerType),
        scalarFunction = Some(function)
      )
    )
    calls.foreach { call =>
      val document = writer.write(call)
      assertEquals(document.get("f").asText, "udf:halve_of_catalog", call.toString)
      assertEquals(document.at("/a/0/p/0").asText, "i")
    }
  }

  test("a method that Spark itself invokes is not a user-defined function") {
    def invoked(of: Class[_]) = writer.write(StaticInvoke(of, IntegerType, "abs", Seq(i)))
    assertEquals(invoked(classOf[ExpressionImplUtils]).get("f").asText, "ExpressionImplUtils.abs")
    // another class may have the same simple name
    assertEquals(invoked(classOf[Math]).get("n").asText, "opaque")
  }

  test("a document contains the SQL text of its function") {
    assert(written(scala(Some("halve"))).contains(""""sql":"halve("""))
  }
}

class Halve extends ScalarFunction[Int] {
  override def inputTypes(): Array[DataType] = Array(IntegerType)
  override def resultType(): DataType = IntegerType
  override def name(): String = "halve_of_catalog"
  override def produceResult(row: InternalRow): Int = row.getInt(0) / 2
}
