package io.tamis.runtime

import scala.util.{Random, Try}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

class UnscaledLongSuite extends munit.FunSuite {
  private val types = Seq(
    DecimalType(9, 2),
    DecimalType(15, 2),
    DecimalType(18, 0),
    DecimalType(20, 3),
    DecimalType(38, 10),
    DecimalType(5, 5)
  )

  private def drawn(t: DecimalType, random: Random): Decimal = {
    val digits = 1 + random.nextInt(t.precision)
    val unscaled = BigInt(digits * 3, random) % BigInt(10).pow(digits)
    random.nextInt(8) match {
      case 0 => null
      case 1 => Decimal(BigDecimal(0, t.scale), t.precision, t.scale)
      case 2 => Decimal(BigDecimal(BigInt(10).pow(t.precision) - 1, t.scale), t.precision, t.scale)
      case n =>
        Decimal(BigDecimal(if (n % 2 == 0) unscaled else -unscaled, t.scale), t.precision, t.scale)
    }
  }

  /** A tree of sums, differences and products over the columns, and their common subexpressions. */
  private def drawn(depth: Int, columns: Seq[Expression], random: Random): Expression =
    if (depth == 0) random.nextInt(6) match {
      case 0 => Literal(Decimal(random.nextInt(5)), DecimalType(1, 0))
      case _ => columns(random.nextInt(columns.size))
    }
    else {
      val (a, b) = (drawn(depth - 1, columns, random), drawn(depth - 1, columns, random))
      random.nextInt(5) match {
        case 0 => Add(a, b)
        case 1 => Subtract(a, b)
        case 2 => UnaryMinus(a)
        case 3 => Divide(a, b)
        case _ => Multiply(a, b)
      }
    }

  private def compiled(e: Expression): InternalRow => Any = {
    val projection = UnsafeProjection.create(Seq(e))
    row => {
      val result = projection(row)
      if (result.isNullAt(0)) null else result.getLong(0)
    }
  }

  test("what is known is what Spark computes") {
    val random = new Random(11)
    var (known, unknown) = (0, 0)
    for (ansi <- Seq(true, false); loses <- Seq(true, false)) {
      val conf = new SQLConf
      conf.setConf(SQLConf.ANSI_ENABLED, ansi)
      conf.setConf(SQLConf.DECIMAL_OPERATIONS_ALLOW_PREC_LOSS, loses)
      SQLConf.withExistingConf(conf) {
        for (_ <- 1 to 150) {
          val kinds = Seq.fill(3)(types(random.nextInt(types.size)))
          val columns = kinds.zipWithIndex.map { case (t, i) => BoundReference(i, t, true) }
          val tree = drawn(random.nextInt(4), columns, random)
          val computed = compiled(UnscaledLong(tree))
          for (_ <- 1 to 30) {
            val row = InternalRow.fromSeq(kinds.map(drawn(_, random)))
            val expected = Try(tree.eval(row).asInstanceOf[Decimal])
            val found = Try(computed(row))
            if (found.toOption.contains(UnscaledLong.Unknown)) unknown += 1
            else if (expected.isFailure) assert(found.isFailure, s"$tree of $row: $found")
            else {
              known += 1
              val exact = Option(expected.get).map(_.toJavaBigDecimal.unscaledValue).orNull
              val got = Option(found.get).map(n => java.math.BigInteger.valueOf(n.toString.toLong))
              assertEquals(got.orNull, exact, s"$tree of $row")
            }
          }
        }
      }
    }
    assert(known > 5000, known)
    assert(unknown > 500, unknown)
  }

  private val Max = Long.MaxValue
  private val none = UnscaledLong.Unknown

  test("results at the ends of LONG and of the type") {
    assertEquals(UnscaledLong.times(1L << 32, 1L << 30, 38), 1L << 62)
    assertEquals(UnscaledLong.times(1L << 32, 1L << 31, 38), none)
    assertEquals(UnscaledLong.times(-(1L << 32), 1L << 32, 38), none)
    assertEquals(UnscaledLong.times(none, 0L, 38), none)
    assertEquals(UnscaledLong.times(0L, none, 38), none)
    assertEquals(UnscaledLong.times(33L, 3L, 2), 99L)
    assertEquals(UnscaledLong.times(50L, 2L, 2), none)
    assertEquals(UnscaledLong.times(-50L, 2L, 2), none)
    assertEquals(UnscaledLong.plus(Max - 1, 1L, 38), Max)
    assertEquals(UnscaledLong.plus(Max, 1L, 38), none)
    assertEquals(UnscaledLong.plus(none, 1L, 38), none)
    assertEquals(UnscaledLong.plus(1L, none, 38), none)
    assertEquals(UnscaledLong.minus(-2L, Max, 38), none)
    assertEquals(UnscaledLong.minus(-1L, Max - 1, 38), -Max)
    assertEquals(UnscaledLong.minus(1L, none, 38), none)
    assertEquals(UnscaledLong.minus(50L, -50L, 2), none)
    assertEquals(UnscaledLong.minus(50L, -49L, 2), 99L)
  }

  test("decimals that do not fit, or have another scale, are unknown") {
    def of(text: String, scale: Int) = {
      val number = new java.math.BigDecimal(text)
      UnscaledLong.of(Decimal(number, number.precision.max(number.scale), number.scale), scale)
    }
    assertEquals(of("9223372036854775807", 0), Max)
    assertEquals(of("9223372036854775808", 0), none)
    assertEquals(of("-9223372036854775809", 0), none)
    assertEquals(of("1.50", 2), 150L)
    assertEquals(of("1.50", 1), none)
  }
}
