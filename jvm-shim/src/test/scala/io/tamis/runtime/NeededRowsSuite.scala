package io.tamis.runtime

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

class NeededRowsSuite extends munit.FunSuite {

  private def condition(t: DataType, isMin: Boolean, value: Any): Option[String] = condition(
    (t, isMin, value)
  )

  private def condition(functions: (DataType, Boolean, Any)*): Option[String] = {
    val columns = functions.zipWithIndex.map { case ((t, isMin, _), i) =>
      Extreme(AttributeReference(s"c$i", t)(), isMin)
    }
    val schema = StructType(functions.zipWithIndex.map { case ((t, _, _), i) =>
      StructField(s"v$i", t)
    })
    Extremes(columns).condition(InternalRow.fromSeq(functions.map(_._3)), schema).map(_.sql)
  }

  test("a row changes MIN if its value is less, and MAX if it is greater") {
    assertEquals(condition(LongType, isMin = true, 5L), Some("(c0 < 5L)"))
    assertEquals(condition(LongType, isMin = false, 5L), Some("(c0 > 5L)"))
    val text = UTF8String.fromString("AIR")
    assertEquals(condition(StringType, isMin = true, text), Some("(c0 < 'AIR')"))
  }

  test("a zero may change a zero") {
    assertEquals(condition(DoubleType, isMin = true, 0.0), Some("(c0 <= 0.0D)"))
    assertEquals(condition(FloatType, isMin = false, -0.0f).map(_.take(5)), Some("(c0 >"))
    assert(condition(FloatType, isMin = false, -0.0f).get.contains(">="))
  }

  test("any value changes NULL") {
    assertEquals(
      condition((LongType, true, null), (IntegerType, false, 3)),
      Some("((c0 IS NOT NULL) OR (c1 > 3))")
    )
  }

  test("a sample without a value shows nothing") {
    assertEquals(condition((LongType, true, null), (IntegerType, false, null)), None)
  }
}
