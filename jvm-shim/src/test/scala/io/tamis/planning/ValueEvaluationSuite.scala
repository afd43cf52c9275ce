package io.tamis.planning

import io.tamis.planning.ValueEvaluation.{Outcome, Work}
import io.tamis.wire.{Evaluable, ExpressionWriter}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

class ValueEvaluationSuite extends munit.FunSuite {
  import Outcome._

  private def text(s: String) = UTF8String.fromString(s)
  private def column(t: DataType) = AttributeReference("c", t)()

  private def outcomes(
      predicate: Expression,
      values: Seq[Any],
      conf: SQLConf = new SQLConf,
      budgetMillis: Long = 20000
  ): Seq[Byte] = {
    val evaluable = Evaluable.of(predicate, new ExpressionWriter(Set.empty).keyOf).get
    val work = new Work(evaluable, values.toIndexedSeq)
    ValueEvaluation.run(Seq(work), budgetMillis, conf)
    work.outcomes.toSeq
  }

  test("one outcome for each value, then for NULL and NaN") {
    val sounds = EqualTo(SoundEx(column(StringType)), Literal("R163"))
    assertEquals(
      outcomes(sounds, Seq(text("Robert"), text("Smith"))),
      Seq(True, False, Null, NotEvaluated)
    )
    assertEquals(outcomes(IsNull(SoundEx(column(StringType))), Nil), Seq(True, NotEvaluated))
  }

  test("values are evaluated under the settings of the session") {
    val conf = new SQLConf
    conf.setConfString("spark.of.test", "yes")
    val c = column(StringType)
    val work =
      new Work(Evaluable("key", EqualTo(OfSettings(c), Literal("yes")), c), Vector(text("x")))
    ValueEvaluation.run(Seq(work), 20000, conf)
    assertEquals(work.outcomes.head, True)
  }

  test("an error is an outcome of its own") {
    val cast = EqualTo(Cast(column(StringType), IntegerType, None, EvalMode.ANSI), Literal(1))
    assertEquals(
      outcomes(cast, Seq(text("1"), text("x"), text("2"))),
      Seq(True, Raised, False, Null, NotEvaluated)
    )
  }

  test("0.0 has an outcome only if -0.0 has the same") {
    def written(value: String) = EqualTo(Cast(column(DoubleType), StringType), Literal(value))
    assertEquals(outcomes(written("0.0"), Seq(0.0, 1.0)), Seq(NotEvaluated, False, Null, False))
    assertEquals(outcomes(written("NaN"), Seq(0.0, 1.0)), Seq(False, False, Null, True))
    val small = EqualTo(Cast(column(FloatType), StringType), Literal("-0.0"))
    assertEquals(outcomes(small, Seq(0.0f, 1.0f)), Seq(NotEvaluated, False, Null, False))
  }

  test("the evaluation runs under the settings of the session") {
    val conf = new SQLConf
    conf.setConfString("spark.sql.legacy.timeParserPolicy", "CORRECTED")
    val seen = EqualTo(SettingOf(column(StringType)), Literal("CORRECTED"))
    val evaluable = Evaluable("key", seen, seen.collect { case a: AttributeReference => a }.head)
    val work = new Work(evaluable, IndexedSeq(text("spark.sql.legacy.timeParserPolicy")))
    ValueEvaluation.run(Seq(work), 20000, conf)
    assertEquals(work.outcomes.head, True)
  }

  test("what exceeds the budget is not evaluated, and the caller does not wait for it") {
    // backtracks for seconds
    val slow = RLike(column(StringType), Literal("^" + "(.*)" * 7 + "\\1Z$"))
    val started = System.nanoTime()
    val found = outcomes(slow, Seq("a" * 60, "b").map(text), budgetMillis = 200)
    assert((System.nanoTime() - started) / 1e6 < 2000)
    assertEquals(found, Seq(NotEvaluated, NotEvaluated, Null, NotEvaluated))
  }
}

/** The value of a conf when the expression is evaluated. */
final case class SettingOf(child: Expression) extends UnaryExpression with codegen.CodegenFallback {
  override def dataType: DataType = StringType
  override protected def nullSafeEval(input: Any): Any =
    UTF8String.fromString(SQLConf.get.getConfString(input.toString))
  override protected def withNewChildInternal(newChild: Expression): SettingOf = copy(newChild)
}

/** The value of a conf when it is evaluated. */
private final case class OfSettings(child: Expression)
    extends UnaryExpression
    with CodegenFallback {
  override def dataType: DataType = StringType
  override protected def nullSafeEval(input: Any): Any =
    UTF8String.fromString(SQLConf.get.getConfString("spark.of.test", "no"))
  override protected def withNewChildInternal(newChild: Expression): OfSettings =
    copy(child = newChild)
}
