package io.tamis.wire

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Values of a column from `lower` to `upper`, in Catalyst's own representation; None: unbounded on
  * that side.
  */
final case class ImpliedInterval(lower: Option[Any], upper: Option[Any], upperOpen: Boolean) {
  def isBounded: Boolean = lower.nonEmpty || upper.nonEmpty
}

/** A range of a column that the planner derived from predicates over functions of it.
  *
  * @param column
  *   the column or struct field as it appears in those predicates
  */
final case class ImpliedRange(column: Expression, intervals: Seq[ImpliedInterval]) {
  import ImpliedRange._

  /** The range as conjuncts over the column: one conjunct per bound if there is a single interval,
    * else one OR.
    */
  def conjuncts: Seq[Expression] = intervals match {
    case Seq(one) => bounds(one)
    case several  => Seq(several.map(i => bounds(i).reduce(And)).reduce(Or))
  }

  /** The range with a margin for sources that compare differently from Spark: one unit in the last
    * place, one day, and two days for timestamps, because two time zones are at most 26 hours
    * apart. Bounds of strings do not move, but an excluded upper bound becomes an included one; a
    * source that orders strings differently must not get them (OtherSource). None if some interval
    * has no bound left.
    */
  def widened: Option[ImpliedRange] = {
    val wider = intervals.map(i =>
      ImpliedInterval(
        i.lower.flatMap(moved(_, -1)),
        i.upper.flatMap(moved(_, 1)),
        upperOpen = false
      )
    )
    Some(copy(intervals = wider)).filter(_ => wider.forall(_.isBounded))
  }

  /** A bound moved by `by` margins of its type; None if it leaves the values of the type. */
  private def moved(bound: Any, by: Int): Option[Any] = (bound, column.dataType) match {
    case (v: Byte, ByteType)   => Some(v + by).filter(_.isValidByte).map(_.toByte)
    case (v: Short, ShortType) => Some(v + by).filter(_.isValidShort).map(_.toShort)
    case (v: Int, IntegerType) => Some(v.toLong + by).filter(_.isValidInt).map(_.toInt)
    case (v: Long, LongType)   => Some(BigInt(v) + by).filter(_.isValidLong).map(_.toLong)
    case (v: Int, DateType)    => Some(v + by).filter(_ <= LastDay)
    case (v: Long, TimestampType | TimestampNTZType) =>
      Some(v + 2 * by * MicrosPerDay).filter(_ <= LastDay * MicrosPerDay)
    case (v: Decimal, t: DecimalType) =>
      Some(v.toUnscaledLong + by)
        .filter(u => BigDecimal(u).precision <= t.precision)
        .map(Decimal(_, t.precision, t.scale))
    case (v: UTF8String, _) => Some(v)
    case _                  => None
  }

  private def bounds(interval: ImpliedInterval): Seq[Expression] = interval match {
    case ImpliedInterval(Some(lower), Some(upper), false) if lower == upper =>
      Seq(EqualTo(column, literal(lower)))
    case ImpliedInterval(lower, upper, open) =>
      lower.map(v => GreaterThanOrEqual(column, literal(v))).toSeq ++
        upper.map(v =>
          if (open) LessThan(column, literal(v)) else LessThanOrEqual(column, literal(v))
        )
  }

  private def literal(value: Any): Literal = Literal(value, column.dataType)
}

object ImpliedRange {
  private val MicrosPerDay = 86400L * 1000 * 1000

  /** Databases and readers do not support the year 10000. */
  private val LastDay = java.time.LocalDate.of(9999, 12, 31).toEpochDay
}

/** Reads the ranges of an answer over the expressions of the question.
  *
  * Bounds become constants of the column's own type, so only Spark's conversions apply
  * (ParquetFilters, rebasing, case of names). A range that cannot be read is left out: queries are
  * correct without it.
  */
object ImpliedReader {

  def ranges(node: JsonNode, predicates: Seq[Expression]): Seq[ImpliedRange] =
    Option(node).toSeq.flatMap(_.elements.asScala).flatMap(range(_, predicates))

  private def range(node: JsonNode, predicates: Seq[Expression]): Option[ImpliedRange] =
    try {
      val path = node.get("column").elements.asScala.map(_.asText).toSeq
      val column =
        predicates.iterator
          .flatMap(_.find(names(path)))
          .nextOption()
          .filter(c => TypeSets.hasRanges(c.dataType))
      val intervals = column.toSeq.flatMap { c =>
        node.get("intervals").elements.asScala.map { i =>
          ImpliedInterval(
            ConstantReader.value(i.get("lower"), c.dataType),
            ConstantReader.value(i.get("upper"), c.dataType),
            i.path("upper_open").asBoolean(false)
          )
        }
      }
      // no interval, or an interval without bounds: there is no filter to derive
      val isRange = intervals.nonEmpty && intervals.forall(_.isBounded)
      column.filter(_ => isRange).map(ImpliedRange(_, intervals))
    } catch { case NonFatal(_) => None }

  private def names(path: Seq[String])(e: Expression): Boolean = e match {
    case ExpressionWriter.ColumnPath(columnPath) => columnPath == path
    case _                                       => false
  }

  /** A value of a type that has ranges; None if it is missing or of another type. */
  def constant(node: JsonNode, t: DataType): Option[Literal] =
    Try(ConstantReader.value(node, t)).toOption.flatten.map(Literal(_, t))
}
