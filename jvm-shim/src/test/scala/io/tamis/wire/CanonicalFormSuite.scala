package io.tamis.wire

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, NewInstance, StaticInvoke}
import org.apache.spark.sql.catalyst.expressions.xml.XPathString
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation
import org.apache.spark.sql.execution
import org.apache.spark.sql.execution.{InSubqueryExec, LocalTableScanExec, SubqueryExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

class CanonicalFormSuite extends munit.FunSuite {
  private def i = AttributeReference("i", IntegerType)()
  private def s = AttributeReference("s", StringType)()
  private def key(e: Expression): Option[String] = new CanonicalForm(Set("hidden")).keyOf(e)

  test("a column is identified by path and type, not by its id or spelling") {
    assertEquals(key(Upper(s)), key(Upper(s.withName("S"))))
    assert(key(Upper(s)).isDefined)
    assertNotEquals(key(Upper(s)), key(Upper(AttributeReference("t", StringType)())))
    val binary = AttributeReference("s", BinaryType)()
    assertNotEquals(key(Length(s)), key(Length(binary)))
  }

  test("keys are case-sensitive if the resolver is") {
    val conf = new SQLConf
    conf.setConf(SQLConf.CASE_SENSITIVE, true)
    SQLConf.withExistingConf(conf) {
      assertNotEquals(key(Upper(s)), key(Upper(s.withName("S"))))
    }
  }

  test("the order of operands matters only if they do not commute") {
    val a = i
    assertEquals(key(BitwiseAnd(a, Literal(1))), key(BitwiseAnd(Literal(1), a)))
    assertNotEquals(key(Pmod(a, Literal(2))), key(Pmod(Literal(2), a)))
  }

  test("sums and products of several operands are identified with their parentheses") {
    def column(name: String): Expression = AttributeReference(name, DoubleType)()
    val (a, b, c) = (column("a"), column("b"), column("c"))
    assert(key(Add(Add(a, b), c)).isDefined)
    assertEquals(key(Add(Add(a, b), c)), key(Add(c, Add(b, a))))
    assertNotEquals(key(Add(Add(a, b), c)), key(Add(a, Add(b, c))))
    assertNotEquals(key(Multiply(Multiply(a, b), c)), key(Multiply(a, Multiply(b, c))))
    assertEquals(key(Add(a, b)), key(Add(b, a)))
  }

  test("formats, time zones and modes are part of the key") {
    val ts = AttributeReference("ts", TimestampType)()
    def formatted(pattern: String, zone: String) =
      key(DateFormatClass(ts, Literal(pattern), Some(zone)))
    assertEquals(formatted("HH", "UTC"), formatted("HH", "UTC"))
    assertNotEquals(formatted("HH", "UTC"), formatted("mm", "UTC"))
    assertNotEquals(formatted("HH", "UTC"), formatted("HH", "Asia/Kolkata"))
    assertNotEquals(
      key(Cast(s, IntegerType, None, EvalMode.ANSI)),
      key(Cast(s, IntegerType, None, EvalMode.TRY))
    )
    def parsed(mode: String) =
      key(JsonToStructs(StructType.fromDDL("a INT"), Map("mode" -> mode), s, Some("UTC")))
    assert(parsed("FAILFAST").isDefined)
    assertNotEquals(parsed("FAILFAST"), parsed("PERMISSIVE"))
  }

  test("collations are part of the key") {
    val collated = AttributeReference("s", StringType("UNICODE_CI"))()
    assertNotEquals(key(Length(s)), key(Length(collated)))
  }

  test("confs that functions read while they run are part of the key") {
    val conf = new SQLConf
    conf.setConfString("spark.sql.legacy.timeParserPolicy", "LEGACY")
    assertNotEquals(key(Upper(s)), SQLConf.withExistingConf(conf)(key(Upper(s))))
  }

  test(
    "confs that decide what a bad record gives, and the scale of decimals, are part of the key"
  ) {
    for (
      (name, value) <- Seq(
        "spark.sql.columnNameOfCorruptRecord" -> "bad",
        "spark.sql.decimalOperations.allowPrecisionLoss" -> "false"
      )
    ) {
      val conf = new SQLConf
      conf.setConfString(name, value)
      assertNotEquals(key(Upper(s)), SQLConf.withExistingConf(conf)(key(Upper(s))), name)
    }
  }

  test("the language of the JVM is part of the key if it has its own rules of case") {
    val before = Locale.getDefault
    def keyIn(language: String) = {
      Locale.setDefault(Locale.forLanguageTag(language))
      try key(Upper(s))
      finally Locale.setDefault(before)
    }
    assertEquals(keyIn("en"), keyIn("de"))
    assertNotEquals(keyIn("en"), keyIn("tr"))
  }

  test("texts that look alike have different keys") {
    assertNotEquals(
      key(Concat(Seq(s, Literal("a,"), Literal("b")))),
      key(Concat(Seq(s, Literal("a"), Literal(",b"))))
    )
    assertNotEquals(key(Concat(Seq(s, Literal("1")))), key(Concat(Seq(s, Literal(1)))))
  }

  test("an expression whose value depends on more than the row has no key") {
    assertEquals(key(Add(i, Cast(Rand(Literal(1L)), IntegerType))), None)
    assertEquals(key(Add(Literal(1), Literal(2))), None)
    val udf = ScalaUDF((x: Int) => x, IntegerType, Seq(i), Nil)
    assertEquals(key(Add(udf, i)), None)
    assertEquals(key(Upper(AttributeReference("hidden", StringType)())), None)
    val default = new MetadataBuilder().putString("EXISTS_DEFAULT", "'x'").build()
    assertEquals(key(Upper(AttributeReference("s", StringType, metadata = default)())), None)
  }

  /** As the optimizer leaves it in a filter. */
  private def replaced(e: Expression): Expression = e.transformUp { case r: RuntimeReplaceable =>
    r.replacement
  }

  test("functions that Catalyst falsely calls deterministic have no key") {
    val encrypted = new AesEncrypt(s, Literal("0000111122223333"))
    assert(encrypted.deterministic, "Spark knows it now: isRandom is not needed any more")
    assertEquals(key(encrypted), None)
    assertEquals(key(Hex(replaced(encrypted))), None)
    assert(key(replaced(new AesDecrypt(Unhex(s), Literal("0000111122223333")))).isDefined)
    assert(key(replaced(UrlEncode(s))).isDefined)
    assert(key(replaced(IsValidUTF8(s))).isDefined)
    assert(key(replaced(new ParseUrl(Seq(s, Literal("HOST"))))).isDefined)
  }

  test("functions of the clock, the session or the task have no key") {
    val zone = Some("UTC")
    val others = Seq(
      CurrentDate(zone),
      CurrentTimestamp(),
      LocalTimestamp(zone),
      CurrentUser(),
      CurrentCatalog(),
      CurrentDatabase(),
      CurrentTimeZone(),
      InputFileName(),
      MonotonicallyIncreasingID(),
      SparkPartitionID(),
      Uuid(Some(1L))
    )
    others.foreach { other =>
      assertEquals(key(EqualNullSafe(s, Cast(other, StringType, zone))), None, other)
    }
    val reflected = Seq("java.lang.System", "getenv").map(Literal(_)) :+ s
    assertEquals(key(CallMethodViaReflection(reflected)), None)
    assertEquals(key(replaced(new TryReflect(reflected))), None)
  }

  test("functions of XML have no key: they may read other files") {
    assertEquals(key(XPathString(s, Literal("a"))), None)
    assertEquals(key(replaced(XPathString(s, Literal("a")))), None)
    val options = Map("rowValidationXSDPath" -> "/schema.xsd")
    val parsed = XmlToStructs(StructType.fromDDL("a INT"), options, s, Some("UTC"))
    assertEquals(key(parsed), None)
  }

  test("code of users and of extensions has no key") {
    assertEquals(key(OfOthers(s)), None)
    assertEquals(key(StaticInvoke(classOf[CanonicalFormSuite], IntegerType, "f", Seq(s))), None)
    // what Dataset.filter and catalogs with functions leave in a filter
    val method = Literal(new OfUser(1), ObjectType(classOf[OfUser]))
    assertEquals(key(Invoke(method, "apply", BooleanType, Seq(s))), None)
    val created = NewInstance(classOf[OfUser], Seq(i), ObjectType(classOf[OfUser]))
    assertEquals(key(Invoke(created, "apply", BooleanType, Seq(s))), None)
  }

  test("subqueries have no key, neither before nor after physical planning") {
    val one = OneRowRelation()
    val values = ListQuery(one, numCols = 1)
    assertEquals(key(GreaterThan(s, ScalarSubquery(one))), None)
    assertEquals(key(InSubquery(Seq(s), values)), None)
    assertEquals(key(Or(Exists(one), IsNotNull(s))), None)
    val table = LocalTableScanExec(Nil, Nil, None)
    val plan = SubqueryExec("subquery", table)
    assertEquals(
      key(GreaterThan(s, execution.ScalarSubquery(plan, NamedExpression.newExprId))),
      None
    )
    assertEquals(key(InSubqueryExec(s, plan, NamedExpression.newExprId)), None)
  }

  test("an expression whose value depends on the day has no key") {
    val zone = Some("UTC")
    def cast(from: DataType, to: DataType) = key(Cast(AttributeReference("s", from)(), to, zone))
    assertEquals(cast(StringType, TimestampType), None)
    assertEquals(cast(ArrayType(StringType), ArrayType(TimestampType)), None)
    assertEquals(cast(VariantType, TimestampType), None)
    assert(cast(StringType, TimestampNTZType).isDefined)
    assert(cast(StringType, DateType).isDefined)
    assert(cast(DateType, TimestampType).isDefined)
    val parsed = UnixTimestamp(s, Literal("yy-MM-dd"), zone)
    assert(key(parsed).isDefined)
    val legacy = new SQLConf
    legacy.setConfString("spark.sql.legacy.timeParserPolicy", "LEGACY")
    assertEquals(SQLConf.withExistingConf(legacy)(key(parsed)), None)
  }

  test("a parser that gives timestamps has no key: it may take the current day") {
    def parsed(ddl: String) = key(JsonToStructs(StructType.fromDDL(ddl), Map.empty, s, Some("UTC")))
    assertEquals(parsed("t TIMESTAMP"), None)
    assert(parsed("t INT, n TIMESTAMP_NTZ").isDefined)
  }

  test("a cast whose time zone the canonical form leaves out has no key") {
    def texts(element: DataType) =
      key(Cast(AttributeReference("a", ArrayType(element))(), StringType, Some("UTC")))
    assertEquals(texts(TimestampType), None)
    assert(texts(DateType).isDefined)
    assert(key(Cast(AttributeReference("a", TimestampType)(), StringType, Some("UTC"))).isDefined)
  }

  test("nested lambdas have no key: the canonical form does not tell their variables apart") {
    def column(name: String) = AttributeReference(name, ArrayType(IntegerType))()
    def lambda(body: NamedLambdaVariable => Expression) = {
      val x = NamedLambdaVariable("x", IntegerType, nullable = true)
      LambdaFunction(body(x), Seq(x))
    }
    val one = ArrayFilter(column("a"), lambda(x => GreaterThan(x, Literal(1))))
    assert(key(Size(one)).isDefined)
    val two = ArrayFilter(
      column("a"),
      lambda(x =>
        ArrayExists(column("b"), lambda(y => EqualTo(x, y)), followThreeValuedLogic = true)
      )
    )
    assertEquals(key(Size(two)), None)
  }

  test("a struct field is a path, whatever its position in the struct") {
    def field(ddl: String) = {
      val struct = StructType.fromDDL(ddl)
      val st = AttributeReference("st", struct)()
      key(Upper(GetStructField(st, struct.fieldIndex("b"))))
    }
    assert(field("a STRING, b STRING").isDefined)
    assertEquals(field("a STRING, b STRING"), field("b STRING"))
  }

  test("a large expression has no key and is abandoned early") {
    val deep = (1 to 5000).foldLeft(s: Expression)((e, _) => Upper(e))
    assertEquals(key(deep), None)
  }
}

/** A function of a user, whose fields could be written out. */
final case class OfUser(n: Int) extends (String => Boolean) {
  override def apply(text: String): Boolean = text.length > n
}
