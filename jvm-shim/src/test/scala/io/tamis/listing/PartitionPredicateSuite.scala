package io.tamis.listing

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.connector.expressions.{Expression => V2Expression, Expressions}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

class PartitionPredicateSuite extends munit.FunSuite {
  private val schema = StructType.fromDDL("day INT, name STRING")
  private val day = AttributeReference("day", IntegerType)()
  private val name = AttributeReference("name", StringType)()
  private val k = AttributeReference("k", IntegerType)()

  private def row(day: Any, name: String): InternalRow =
    InternalRow(day, if (name == null) null else UTF8String.fromString(name))

  private val rows = Seq(row(1, "a"), row(2, "b"), row(0, null), row(null, "a"))

  /** The indexes of the rows that pass. */
  private def passing(test: InternalRow => Boolean): Seq[Int] =
    rows.indices.filter(i => test(rows(i)))

  test("an expression over partition columns alone decides partitions") {
    def isOf(e: Expression) = PartitionPredicate.isPartitionOnly(e, schema)
    assert(isOf(EqualTo(day, Literal(1))))
    assert(isOf(And(IsNotNull(day), Like(name, Literal("a%"), '\\'))))
    assert(!isOf(EqualTo(k, Literal(1))))
    assert(!isOf(EqualTo(day, k)))
    assert(!isOf(Literal.TrueLiteral), "no column")
    assert(!isOf(GreaterThan(Rand(Literal(1L)), Cast(day, DoubleType))), "random")
    assert(isOf(EqualTo(ScalaUDF((x: Int) => x, IntegerType, Seq(day)), Literal(1))), "a UDF")
    val random = ScalaUDF((x: Int) => x, IntegerType, Seq(day), udfDeterministic = false)
    assert(!isOf(EqualTo(random, Literal(1))), "a UDF that is not deterministic")
    val python =
      PythonUDF("f", null, IntegerType, Seq(day), 100, true)
    assert(!isOf(EqualTo(python, Literal(1))), "a UDF that the driver cannot run")
    assert(!isOf(EqualTo(day, ScalarSubquery(OneRowRelation()))), "a subquery")
    assert(!isOf(EqualTo(CurrentUser(), name)), "replaced before the query runs")
  }

  test("a partition passes if every conjunct is true, not if one is NULL") {
    assertEquals(passing(PartitionPredicate.of(Nil, schema)), Seq(0, 1, 2, 3))
    assertEquals(
      passing(PartitionPredicate.of(Seq(GreaterThan(day, Literal(0))), schema)),
      Seq(0, 1)
    )
    val both = Seq(GreaterThan(day, Literal(0)), EqualTo(name, Literal("a")))
    assertEquals(passing(PartitionPredicate.of(both, schema)), Seq(0))
    assertEquals(passing(PartitionPredicate.of(Seq(IsNull(name)), schema)), Seq(2))
  }

  test("columns are found by name, whatever their order in the schema") {
    val swapped = StructType(schema.reverse)
    val test = PartitionPredicate.of(Seq(EqualTo(day, Literal(1))), swapped)
    assert(test(InternalRow(UTF8String.fromString("a"), 1)))
    assert(!test(InternalRow(UTF8String.fromString("a"), 2)))
  }

  test("a predicate that raises for some partition decides none") {
    val raises = EqualTo(Cast(name, IntegerType, None, EvalMode.ANSI), Literal(1))
    def onEach(rows: InternalRow*) =
      PartitionPredicate.onEach(raises, schema, rows.toArray).map(_.toSeq)
    assertEquals(onEach(rows: _*), None)
    assertEquals(onEach(row(1, "1"), row(2, null)), Some(Seq(true, false)))
  }

  private val ofFirst = EqualTo(day, Literal(1))
  private val ofSecond = EqualTo(name, Literal("b"))
  private val ofFile = GreaterThan(k, Literal(5))
  private val random = GreaterThan(Rand(Literal(1L)), Cast(day, DoubleType))

  // conjunct, what partition values must satisfy wherever it is true
  private val implied = Seq[(Expression, Option[Expression])](
    ofFirst -> Some(ofFirst),
    ofFile -> None,
    Literal.TrueLiteral -> None,
    And(ofFirst, ofFile) -> Some(ofFirst),
    And(ofFile, ofFile) -> None,
    And(ofFirst, random) -> None,
    Or(ofFirst, ofFile) -> None,
    Or(ofFirst, random) -> None,
    Or(ofFile, Literal.TrueLiteral) -> None,
    Or(And(ofFirst, ofFile), ofSecond) -> Some(Or(ofFirst, ofSecond)),
    Or(And(ofFirst, ofFile), And(ofFile, ofSecond)) -> Some(Or(ofFirst, ofSecond)),
    And(Or(ofFile, ofFirst), ofSecond) -> Some(ofSecond),
    // NOT turns what is implied around
    Not(And(ofFirst, ofFile)) -> None,
    Not(Or(ofFirst, ofFile)) -> None,
    EqualTo(ofFirst, ofFile) -> None
  )

  for ((conjunct, expected) <- implied)
    test(s"$conjunct implies ${expected.getOrElse("nothing")} of partition values") {
      assertEquals(PartitionPredicate.impliedBy(conjunct, schema), expected)
      assertEquals(PartitionPredicate.impliedBy(conjunct, new StructType), None)
    }

  private def in(column: V2Expression, values: V2Expression*): V2Predicate =
    new V2Predicate("IN", (column +: values).toArray)
  private val ofDay = Expressions.column("day")
  private def number(value: Int): V2Expression = Expressions.literal(value)

  private def atRunTime(predicates: V2Predicate*): Seq[Int] =
    passing(PartitionPredicate.ofRuntime(predicates, schema))

  test("a run-time IN keeps the partitions with these values") {
    assertEquals(atRunTime(in(ofDay, number(1), number(7))), Seq(0))
    assertEquals(atRunTime(in(ofDay)), Nil)
    assertEquals(
      atRunTime(in(ofDay, number(1), number(2)), in(ofDay, number(2), number(0))),
      Seq(1)
    )
  }

  test("any other run-time filter keeps every partition") {
    val every = Seq(0, 1, 2, 3)
    assertEquals(atRunTime(), every)
    assertEquals(atRunTime(in(Expressions.column("k"), number(1))), every)
    assertEquals(atRunTime(in(Expressions.column("day.x"), number(1))), every)
    assertEquals(atRunTime(in(ofDay, number(1), Expressions.column("k"))), every)
    assertEquals(atRunTime(new V2Predicate("=", Array[V2Expression](ofDay, number(1)))), every)
    assertEquals(atRunTime(in(number(1), number(1))), every)
  }
}
