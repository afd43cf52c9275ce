package io.tamis.runtime

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.StructType

/** How ORDER BY sorts one key. */
final case class KeyOrder(descending: Boolean, nullsFirst: Boolean)

object KeyOrder {
  def of(order: SortOrder): KeyOrder =
    KeyOrder(order.direction == Descending, order.nullOrdering == NullsFirst)
}

/** That the keys of a row are at or before those of another row in an ORDER BY. */
object AtOrBefore {

  /** The condition over the keys. Spark's comparisons order values as its ORDER BY does: NaN is the
    * greatest value, and -0.0 equals 0.0.
    *
    * @param last
    *   the keys of the other row
    */
  def condition(
      keys: Seq[Expression],
      orders: Seq[KeyOrder],
      last: InternalRow,
      t: StructType
  ): Expression =
    keys
      .zip(orders)
      .zipWithIndex
      .map { case ((key, order), i) =>
        new Position(key, order, Literal(last.get(i, t(i).dataType), t(i).dataType))
      }
      // (a, b) is at or before (x, y) if a is before x, or if a is x and b is at or before y
      .foldRight(Option.empty[Expression]) { (position, rest) =>
        Some(rest.fold(position.atOrBefore) { later =>
          Or(position.before, And(EqualNullSafe(position.key, position.value), later))
        })
      }
      .getOrElse(Literal.TrueLiteral)

  /** A value of one key in its order. */
  private final class Position(val key: Expression, order: KeyOrder, val value: Literal) {

    /** With NULLS FIRST no key is before NULL and only NULL is at NULL. With NULLS LAST every other
      * key is before NULL.
      */
    def atOrBefore: Expression =
      if (value.value == null) if (order.nullsFirst) IsNull(key) else Literal.TrueLiteral
      else
        withNulls(
          if (order.descending) GreaterThanOrEqual(key, value) else LessThanOrEqual(key, value)
        )

    def before: Expression =
      if (value.value == null) if (order.nullsFirst) Literal.FalseLiteral else IsNotNull(key)
      else withNulls(if (order.descending) GreaterThan(key, value) else LessThan(key, value))

    /** NULLS FIRST: NULL is before every value. NULLS LAST: it is after every value, and then the
      * comparison is NULL, which is not true.
      */
    private def withNulls(e: Expression): Expression =
      if (order.nullsFirst) Or(IsNull(key), e) else e
  }
}
