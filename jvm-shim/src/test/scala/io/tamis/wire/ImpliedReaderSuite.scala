package io.tamis.wire

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

class ImpliedReaderSuite extends munit.FunSuite {
  private def column(t: DataType, name: String = "c") = AttributeReference(name, t)()

  private def read(asked: Expression, intervals: String, path: String = """["c"]""") =
    ImpliedReader.ranges(
      Messages.mapper.readTree(s"""[{"column":$path,"intervals":$intervals}]"""),
      Seq(asked)
    )

  private def conjuncts(asked: Expression, intervals: String): Seq[String] =
    read(asked, intervals).flatMap(_.conjuncts).map(ExpressionWriter.sqlOf)

  test("a range has the column of the question and its type") {
    val c = column(DateType)
    val asked = EqualTo(Year(c), Literal(1995))
    val bounds = read(asked, """[{"lower":9131,"upper":9495}]""").flatMap(_.conjuncts)
    assertEquals(
      bounds,
      Seq[Expression](
        GreaterThanOrEqual(c, Literal(9131, DateType)),
        LessThanOrEqual(c, Literal(9495, DateType))
      )
    )
  }

  test("single values, open ends and several intervals become conjuncts") {
    val n = column(IntegerType)
    assertEquals(conjuncts(n, """[{"lower":4,"upper":4}]"""), Seq("(c = 4)"))
    assertEquals(conjuncts(n, """[{"lower":null,"upper":4}]"""), Seq("(c <= 4)"))
    assertEquals(
      conjuncts(n, """[{"lower":4,"upper":4},{"lower":9,"upper":null}]"""),
      Seq("((c = 4) OR (c >= 9))")
    )
    val s = column(StringType)
    assertEquals(
      conjuncts(s, """[{"lower":"a","upper":"b","upper_open":true}]"""),
      Seq("(c >= 'a')", "(c < 'b')")
    )
  }

  test("a range may be over a struct field") {
    val s = column(StructType.fromDDL("`a b` DECIMAL(9,2)"), "s")
    val field = GetStructField(s, 0)
    val ranges =
      read(Abs(field), """[{"lower":"7.00","upper":"7.99"}]""", """["s","a b"]""")
    assertEquals(ranges.map(_.column), Seq[Expression](field))
    assertEquals(
      ranges.flatMap(_.conjuncts).map(_.children(1).toString),
      Seq("7.00", "7.99")
    )
  }

  test("an unreadable range is left out") {
    val n = column(IntegerType)
    for (
      intervals <- Seq(
        "[]",
        """[{"lower":null,"upper":null}]""",
        """[{"lower":1,"upper":2},{"lower":null,"upper":null}]""",
        """[{"lower":2147483648,"upper":null}]""",
        """[{"lower":1.5,"upper":null}]""",
        """[{"lower":"1","upper":null}]""",
        "7"
      )
    ) assertEquals(conjuncts(n, intervals), Nil, intervals)
    assertEquals(conjuncts(column(DecimalType(3, 1)), """[{"lower":"1.25","upper":null}]"""), Nil)
    assertEquals(conjuncts(column(DecimalType(3, 1)), """[{"lower":"100.5","upper":null}]"""), Nil)
    assertEquals(conjuncts(column(DoubleType), """[{"lower":1,"upper":null}]"""), Nil)
    assertEquals(conjuncts(column(IntegerType, "other"), """[{"lower":1,"upper":null}]"""), Nil)
    assertEquals(ImpliedReader.ranges(Messages.mapper.readTree("{}").path("implied"), Nil), Nil)
  }

  private def widened(t: DataType, intervals: String): Seq[String] =
    read(column(t), intervals).flatMap(_.widened).flatMap(_.conjuncts).map(ExpressionWriter.sqlOf)

  test("widened adds a margin for engines that compare differently") {
    assertEquals(widened(IntegerType, """[{"lower":4,"upper":4}]"""), Seq("(c >= 3)", "(c <= 5)"))
    assertEquals(widened(ByteType, """[{"lower":-128,"upper":5}]"""), Seq("(c <= 6Y)"))
    assertEquals(widened(LongType, s"""[{"lower":${Long.MinValue},"upper":null}]"""), Nil)
    assertEquals(
      widened(DateType, """[{"lower":0,"upper":0}]"""),
      Seq("(c >= DATE '1969-12-31')", "(c <= DATE '1970-01-02')")
    )
    assertEquals(widened(DateType, """[{"lower":null,"upper":2932896}]"""), Nil)
    assertEquals(
      widened(TimestampNTZType, """[{"lower":0,"upper":0}]"""),
      Seq(
        "(c >= TIMESTAMP_NTZ '1969-12-30 00:00:00')",
        "(c <= TIMESTAMP_NTZ '1970-01-03 00:00:00')"
      )
    )
    assertEquals(
      widened(DecimalType(3, 2), """[{"lower":"1.50","upper":"9.99"}]"""),
      Seq("(c >= 1.49BD)")
    )
  }
}
