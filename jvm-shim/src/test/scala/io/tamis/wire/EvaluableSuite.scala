package io.tamis.wire

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.expressions.xml.XPathString
import org.apache.spark.sql.catalyst.util.CharVarcharCodegenUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

class EvaluableSuite extends munit.FunSuite {
  private val name = AttributeReference("name", StringType)()
  private val n = AttributeReference("n", IntegerType)()
  private val hidden = AttributeReference("hidden", StringType)()
  private val item =
    AttributeReference("item", StructType.fromDDL("`a b` STRING, n INT"))()
  private val field = GetStructField(item, 0)

  private val writer = new ExpressionWriter(Set("hidden"))
  private def of(e: Expression): Option[Evaluable] = Evaluable.of(e, writer.keyOf)
  private def text(s: String) = Literal(UTF8String.fromString(s), StringType)
  private def sounds(e: Expression) = EqualTo(SoundEx(e), text("R163"))

  private def accepted(e: Expression)(implicit loc: munit.Location): Unit =
    assert(of(e).isDefined, e)
  private def refused(e: Expression)(implicit loc: munit.Location): Unit = assertEquals(of(e), None)

  test("functions of one column are evaluated") {
    accepted(sounds(name))
    accepted(sounds(field))
    accepted(Or(sounds(name), EqualTo(name, text("x"))))
    accepted(Like(name, text("%x%"), '\\'))
    accepted(GreaterThan(StringLPad(name, Literal(12), text("*")), text("x")))
  }

  test("functions of other packages are not evaluated") {
    assertEquals(Evaluable.of(EqualTo(OfTests(name), text("x")), _ => Some("key")), None)
  }

  test("comparisons with constants are decided without evaluation") {
    refused(EqualTo(name, text("x")))
    refused(And(IsNotNull(name), Not(In(name, Seq(text("x"), text("y"))))))
    refused(LessThan(field, text("x")))
  }

  test("a predicate over two columns, or none, is not evaluated") {
    refused(EqualTo(SoundEx(name), SoundEx(hidden)))
    refused(And(sounds(name), sounds(field)))
    refused(EqualTo(SoundEx(text("x")), text("y")))
    refused(And(sounds(field), EqualTo(GetStructField(item, 1), Literal(1))))
  }

  test("what may give another value elsewhere is not evaluated") {
    refused(And(sounds(name), LessThan(Rand(1), Literal(0.5))))
    refused(sounds(hidden))
    refused(EqualTo(name, Cast(CurrentDate(Some("UTC")), StringType)))
    refused(GreaterThan(Cast(name, TimestampType, Some("UTC")), Literal(0L, TimestampType)))
    refused(
      sounds(name.withMetadata(new MetadataBuilder().putString("EXISTS_DEFAULT", "'x'").build()))
    )
  }

  test("functions of users are not evaluated") {
    val udf = ScalaUDF((s: String) => s, StringType, Seq(name), udfName = Some("f"))
    refused(EqualTo(udf, text("x")))
    refused(EqualTo(OfOthers(name), text("x")))
    refused(EqualTo(invoke(classOf[EvaluableSuite]), text("x")))
    accepted(EqualTo(invoke(classOf[CharVarcharCodegenUtils]), text("x")))
  }

  private def invoke(target: Class[_]) =
    StaticInvoke(target, StringType, "charTypeWriteSideCheck", Seq(name, Literal(5)))

  test("what may be long, random, or read files is not evaluated") {
    refused(EqualTo(StringRepeat(name, n), text("x")))
    refused(EqualTo(StringRepeat(name, Literal(1000000)), text("x")))
    def repeated(e: Expression) = StringRepeat(e, Literal(900))
    accepted(EqualTo(repeated(repeated(name)), text("x")))
    refused(EqualTo(repeated(repeated(repeated(name))), text("x")))
    refused(EqualTo(XPathString(name, text("a")), text("x")))
    refused(EqualTo(XPathString(name, text("a")).replacement, text("x")))
    refused(EqualTo(FormatString(text("%900000000s"), name), text("x")))
    val encrypt = Seq(name, text("0000111122223333"))
    val aes = StaticInvoke(classOf[ExpressionImplUtils], BinaryType, "aesEncrypt", encrypt)
    refused(EqualTo(aes, Literal(Array[Byte](1))))
  }

  test("columns of types whose equal values differ are not evaluated") {
    val lower = AttributeReference("c", StringType("UTF8_LCASE"))()
    refused(IsNotNull(Length(lower)))
    refused(EqualTo(Length(lower), Literal(1)))
    refused(EqualTo(Size(AttributeReference("a", ArrayType(IntegerType))()), Literal(1)))
  }

  test("the order of operands counts, because only one order may raise an error") {
    val (one, other) = (sounds(name), Like(name, text("%x"), '\\'))
    assertNotEquals(of(And(one, other)).map(_.key), of(And(other, one)).map(_.key))
    assertEquals(of(And(one, other)).map(_.key), of(And(one, other)).map(_.key))
  }

  test("large predicates are not evaluated, however deep") {
    def nested(levels: Int) = (1 to levels).foldLeft(name: Expression)((e, _) => Upper(e))
    accepted(EqualTo(nested(50), text("x")))
    refused(EqualTo(nested(200), text("x")))
    refused((1 to 20000).map(i => sounds(name): Expression).reduceLeft(Or(_, _)))
  }

  test("the largest part below AND, OR and NOT is marked, and nothing inside of it") {
    val mixed = Or(Not(And(sounds(name), EqualTo(n, Literal(1)))), Like(name, text("%x"), '\\'))
    val (documents, found) = writer.writeEvaluable(Seq(mixed, Or(sounds(name), sounds(name))))
    val marked = documents.findValuesAsText("n")
    assertEquals(marked.stream.filter(_ == "evaluable").count, 3L)
    assertEquals(found.size, 3)
    assertEquals(documents.get(1).path("c").path("p").get(0).asText, "name")
    assertEquals(writer.writeAll(Seq(mixed)).findValuesAsText("n").contains("evaluable"), false)
  }

  test("a bound predicate reads nothing but its column") {
    val bound = of(And(sounds(field), IsNotNull(field))).get.bound
    assertEquals(bound.references.size, 0)
    assertEquals(bound.collect { case b: BoundReference => b.ordinal }, Seq(0, 0))
  }
}

/** A function of another package. */
final case class OfOthers(child: Expression) extends UnaryExpression with Unevaluable {
  override def dataType: DataType = StringType
  override protected def withNewChildInternal(newChild: Expression): OfOthers = copy(newChild)
}

private final case class OfTests(child: Expression) extends UnaryExpression with CodegenFallback {
  override def dataType: DataType = child.dataType
  override protected def nullSafeEval(input: Any): Any = input
  override protected def withNewChildInternal(newChild: Expression): OfTests =
    copy(child = newChild)
}
