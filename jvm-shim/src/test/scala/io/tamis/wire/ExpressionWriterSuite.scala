package io.tamis.wire

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

class ExpressionWriterSuite extends munit.FunSuite {
  private val schema = StructType.fromDDL(
    "i INT, s STRING, d DOUBLE, st STRUCT<a: INT, b: STRUCT<c: STRING>>, `st.a` INT"
  )
  private val writer = new ExpressionWriter(ExpressionWriter.ambiguousPaths(schema))
  private val i = AttributeReference("i", IntegerType)()
  private val s = AttributeReference("s", StringType)()
  private val d = AttributeReference("d", DoubleType)()
  private val st = AttributeReference("st", schema("st").dataType)()

  private def written(e: Expression): String = writer.write(e).toString

  test("a comparison is a call with its class name and children") {
    assertEquals(
      written(GreaterThan(i, Literal(5))),
      """{"n":"call","f":"GreaterThan","t":"boolean","a":[""" +
        """{"n":"col","p":["i"],"t":"integer","nullable":true},{"n":"lit","t":"integer","v":5}]}"""
    )
  }

  test("a hidden column is hidden in every spelling that the query may use") {
    val hiding = new ExpressionWriter(Set("Ts"))
    def kind(name: String) =
      hiding.write(AttributeReference(name, IntegerType)()).get("n").asText
    assertEquals(Seq("Ts", "ts", "TS", "other").map(kind), Seq("opaque", "opaque", "opaque", "col"))
  }

  test("a function of an extension is opaque, whatever its name") {
    assertEquals(writer.write(Upper(s)).get("n").asText, "call")
    assertEquals(writer.write(OfExtension.Upper(s)).get("n").asText, "opaque")
  }

  test("the name of a type has its collation and its length") {
    val types = Seq(StringType, StringType("UTF8_LCASE"), CharType(3), VarcharType(4))
    assertEquals(
      types.map(ExpressionWriter.typeName),
      Seq("string", "string collate UTF8_LCASE", "char(3)", "varchar(4)")
    )
  }

  test("AND and OR are flattened in order") {
    val four = And(And(IsNull(i), IsNull(s)), And(IsNull(d), IsNull(st)))
    val names = writer.write(four).get("a")
    assertEquals(names.size, 4)
    assertEquals(names.get(2).get("a").get(0).get("p").get(0).asText, "d")
  }

  test("a thousand ORs do not overflow the stack") {
    val many = (1 to 5000).map(n => EqualTo(i, Literal(n)): Expression).reduceLeft(Or(_, _))
    assertEquals(writer.write(many).get("a").size, 5000)
  }

  test("intervals are whole numbers: microseconds, and months") {
    val day = Literal.create(86400000000L, DayTimeIntervalType())
    val year = Literal.create(12, YearMonthIntervalType())
    assertEquals(written(day), """{"n":"lit","t":"interval day to second","v":86400000000}""")
    assertEquals(written(year), """{"n":"lit","t":"interval year to month","v":12}""")
  }

  test("a calendar interval is months, days and microseconds") {
    val all = Literal.create(new CalendarInterval(1, -2, 3L), CalendarIntervalType)
    assertEquals(written(all), """{"n":"lit","t":"interval","v":[1,-2,3]}""")
  }

  test("the table of a zone appears at the root of the first of the documents that name it") {
    val writing = new ExpressionWriter(Set.empty)
    val ts = AttributeReference("ts", TimestampType)()
    def after(hour: Int, zone: String) = GreaterThan(Hour(ts, Some(zone)), Literal(hour))
    val both = And(after(1, "Europe/Berlin"), after(2, "Europe/Berlin"))
    val three = after(3, "Europe/Berlin")
    val documents = writing.writeAll(Seq(both, three, And(three, after(4, "Asia/Tokyo"))))
    val first = documents.get(0)
    assertEquals(first.get("zones").size, 1)
    assert(first.at("/zones/Europe~1Berlin").asText.startsWith("3208;"))
    assert(!first.get("a").toString.contains("3208;"))
    assert(!documents.get(1).has("zones"))
    val other = documents.get(2)
    assertEquals(other.get("zones").fieldNames.next(), "Asia/Tokyo")
    assertEquals(other.get("zones").size, 1)
  }

  test("a document that is written alone contains the tables of all its zones") {
    val writing = new ExpressionWriter(Set.empty)
    val hour =
      GreaterThan(Hour(AttributeReference("ts", TimestampType)(), Some("Asia/Tokyo")), Literal(1))
    assertEquals(writing.write(hour), writing.write(hour))
    assert(writing.write(hour).get("zones").has("Asia/Tokyo"))
  }

  test("a zone that is an argument becomes the zone of the call") {
    val ts = AttributeReference("ts", TimestampType)()
    val document =
      new ExpressionWriter(Set.empty).write(FromUTCTimestamp(ts, Literal("Asia/Tokyo")))
    assertEquals(document.at("/o/timeZoneId").asText, "Asia/Tokyo")
    assert(document.get("zones").has("Asia/Tokyo"))
  }

  test("LIKE includes its escape character") {
    assert(written(Like(s, Literal("a#_b%"), '#')).contains(""""o":{"escapeChar":"#"}"""))
  }

  test("a struct field is a path") {
    val c = GetStructField(GetStructField(st, 1), 0)
    assert(written(c).contains(""""p":["st","b","c"]"""))
  }

  test("a path that two columns share is opaque for both of them") {
    assertEquals(writer.write(GetStructField(st, 0)).get("n").asText, "opaque")
    assertEquals(writer.write(AttributeReference("st.a", IntegerType)()).get("n").asText, "opaque")
  }

  test("a column with an existence default is opaque: older files do not read as NULL") {
    val metadata = new MetadataBuilder().putString("EXISTS_DEFAULT", "5").build()
    val column = AttributeReference("i", IntegerType, nullable = true, metadata)()
    assertEquals(
      writer.write(EqualTo(column, Literal(5))).get("a").get(0).get("n").asText,
      "opaque"
    )
  }

  test("NaN and infinities are text, other doubles are numbers that round-trip") {
    assert(written(Literal(Double.NaN)).contains(""""v":"NaN""""))
    assert(written(Literal(Double.NegativeInfinity)).contains(""""v":"-Infinity""""))
    assertEquals(writer.write(Literal(0.1)).get("v").asDouble, 0.1)
    assertEquals(writer.write(Literal(Long.MinValue)).get("v").asLong, Long.MinValue)
  }

  test("a FLOAT literal is widened exactly") {
    assertEquals(writer.write(Literal(1.1f)).get("v").asDouble, 1.1f.toDouble)
  }

  test("decimals are plain text") {
    assertEquals(
      writer.write(Literal(Decimal("1E-7"), DecimalType(10, 7))).get("v").asText,
      "0.0000001"
    )
  }

  test("a string that is not UTF-8 is opaque: JSON would change it") {
    val broken = Literal.create(UTF8String.fromBytes(Array[Byte](0x61, 0xff.toByte)), StringType)
    assertEquals(writer.write(broken).get("n").asText, "opaque")
  }

  test("IN and INSET have the same form, with a flag for NULL") {
    val in = writer.write(In(i, Seq(Literal(1), Literal(null, IntegerType))))
    assertEquals(in.get("v").size, 1)
    assert(in.get("null").asBoolean)
    val set = writer.write(InSet(i, Set[Any](1, 2)))
    assertEquals(set.get("v").size, 2)
    assert(!set.get("null").asBoolean)
  }

  test("a nondeterministic expression is opaque and lists its columns") {
    val opaque = writer.write(GreaterThan(Rand(Literal(1L)), d))
    assertEquals(opaque.get("n").asText, "opaque")
    assertEquals(opaque.get("cols").toString, """[["d"]]""")
  }

  test("a function is written with its scalar options") {
    val cast = writer.write(Cast(s, DateType, Some("Europe/Berlin"), EvalMode.ANSI))
    assertEquals(cast.get("f").asText, "Cast")
    assertEquals(cast.at("/o/timeZoneId").asText, "Europe/Berlin")
    assertEquals(cast.at("/o/evalMode").asText, "ANSI")
  }

  test("SQL text has no qualifiers") {
    assertEquals(
      ExpressionWriter.sqlOf(IsNull(i.withQualifier(Seq("spark_catalog", "db", "t")))),
      "(i IS NULL)"
    )
  }
}

object OfExtension {

  /** Computes something else than Spark's function of the same name. */
  final case class Upper(child: Expression) extends UnaryExpression with CodegenFallback {
    override def dataType: DataType = StringType
    override protected def nullSafeEval(input: Any): Any = UTF8String.fromString("constant")
    override protected def withNewChildInternal(newChild: Expression): Upper =
      copy(child = newChild)
  }
}
