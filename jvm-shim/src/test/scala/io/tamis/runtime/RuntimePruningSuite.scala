package io.tamis.runtime

import io.tamis.PlanSuite
import io.tamis.bridge.{PlannerUnavailable, StubAnswer, StubPlanner}
import io.tamis.planning.{FileSelection, ScanPlanner}
import java.util.BitSet

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions
import org.apache.spark.sql.catalyst.expressions.{
  Add,
  And,
  AttributeReference,
  Cast,
  Divide,
  EqualTo,
  EvalMode,
  ExprId,
  GreaterThan,
  LessThan,
  Literal,
  NamedExpression,
  Or
}
import org.apache.spark.sql.connector.expressions.{Expression, Expressions, Literal => V2Literal}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.execution.{LocalTableScanExec, SubqueryExec}
import org.apache.spark.sql.types.{ArrayType, DataType, DoubleType, IntegerType, LongType}

class RuntimePruningSuite extends PlanSuite {
  private def in(column: String, values: Any*): Predicate = {
    val all: Seq[Expression] = Expressions.column(column) +: values.map {
      case filter: RuntimeFilter =>
        new V2Literal[RuntimeFilter] {
          override def value(): RuntimeFilter = filter
          override def dataType(): DataType = IntegerType
          override def children(): Array[Expression] = Array.empty
        }
      case value => Expressions.literal(value)
    }
    new Predicate("IN", all.toArray)
  }

  private def day: Predicate = in("day", 1)

  /** The ordinals of the files that are left of these; Nil: of all. */
  private def left(name: String, among: Int*)(predicates: Predicate*): Seq[Int] = {
    val table = tables(tamis(s"SELECT * FROM $name")).head
    val all = ScanPlanner.everything(table).kept
    val some = new BitSet
    among.foreach(some.set)
    val kept = if (among.isEmpty) all else FileSelection.of(all.listing, some)
    val ordinals = Seq.newBuilder[Int]
    new RuntimePruning(table, kept)(predicates).foreach(ordinals += _)
    ordinals.result()
  }

  test("a subquery that fails leaves out no file, also by a partition column") {
    val failing = new SubqueryExec("keys", LocalTableScanExec(Nil, Nil, None)) {
      override def executeCollect(): Array[InternalRow] = throw new IllegalStateException("killed")
    }
    val column = AttributeReference("day", IntegerType)()
    val condition = KeyMembership(column, Awaited(ArrayType(IntegerType), isList = true))
    val filter = new RuntimeFilterExec(column, failing, NamedExpression.newExprId, condition)
    for (_ <- 1 to 2) {
      val Some(Array(value)) = filter.values(): @unchecked
      assertEquals(value.asInstanceOf[RuntimeFilter].predicate, None)
      filter.updateResult()
    }
  }

  test("the planner chooses among the files that are left") {
    answer(StubAnswer(kept = Some(Seq(0, 1))))
    assertEquals(left("t")(in("k", 5L)), Seq(0, 1))
    assertEquals(left("t", 1, 2)(in("k", 5L)), Seq(1))
    assertEquals(StubPlanner.questions.last.at("/conjuncts/0/n").asText, "in")
  }

  test("partition values are compared without the planner") {
    answer(throw new PlannerUnavailable("the test says so"))
    assertEquals(left("p")(day).size, 1)
    assertEquals(StubPlanner.questions.size, 0)
  }

  /** What a scan gets for a condition, in which `Awaited` is this value. */
  private def awaited(condition: expressions.Expression, value: Any): Predicate =
    in("day", new RuntimeFilter(condition, Array(value)))

  test("conditions are tested on partition values without the planner") {
    answer(throw new PlannerUnavailable("the test says so"))
    // a scan receives columns without ids, see PlanRuntimeConditions.byName
    val day = AttributeReference("day", IntegerType)(ExprId(0))
    val k = AttributeReference("k", LongType)(ExprId(0))
    val value = Awaited(IntegerType, isList = false)
    val keys = Awaited(ArrayType(LongType), isList = true)
    val ofFile = GreaterThan(k, Literal(5L))
    val raises = EqualTo(Divide(Literal(1.0), Cast(day, DoubleType), EvalMode.ANSI), Literal(1.0))
    Seq(
      (LessThan(day, value), 1, 1),
      (EqualTo(Add(day, Literal(1)), value), 7, 0),
      (Or(EqualTo(day, value), And(EqualTo(day, Literal(2)), ofFile)), 0, 2),
      (Or(EqualTo(day, value), ofFile), 0, 3),
      (And(raises, EqualTo(day, value)), 2, 1) // raises for day 0
    ).foreach { case (condition, value, files) =>
      assertEquals(left("p")(awaited(condition, value)).size, files, condition)
    }
    val membership = KeyMembership(Cast(day, LongType), keys)
    val listed = in("day", new RuntimeFilter(membership, Array(2L, 9L, null)))
    assertEquals(left("p")(listed).size, 1)
  }

  test("without an answer, or for a column of no table, no file is left out") {
    answer(throw new PlannerUnavailable("the test says so"))
    assertEquals(left("t")(in("k", 5L)), Seq(0, 1, 2, 3))
    answer(StubAnswer(kept = Some(Nil)))
    assertEquals(left("t")(in("unknown", 5L)), Seq(0, 1, 2, 3))
  }

  test("confs: off, observing") {
    answer(StubAnswer(kept = Some(Nil)))
    Seq(
      "spark.tamis.runtimeFilters.enabled" -> "false",
      "spark.tamis.mode" -> "observe"
    ).foreach { off =>
      withConf(off) {
        assertEquals(left("t")(in("k", 5L)), Seq(0, 1, 2, 3))
        assertEquals(left("p")(day).size, 1) // as in plain Spark
        val condition =
          LessThan(AttributeReference("day", IntegerType)(), Awaited(IntegerType, isList = false))
        assertEquals(left("p")(awaited(condition, 1)).size, 1)
      }
    }
    assertEquals(left("t")(in("k", 5L)), Nil)
  }
}
