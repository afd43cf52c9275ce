package io.tamis.runtime

import io.tamis.wire.TypeSets
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.StructType

/** Which rows of a scan its query needs, as far as the one row that a sample returns shows it.
  *
  * Expressions are over columns of the scan by name, without attribute ids.
  */
sealed trait NeededRows {

  /** What holds for every row that is needed besides those of the sample; None: nothing is known.
    */
  def condition(found: InternalRow, t: StructType): Option[Expression]
}

/** The first n rows of an ORDER BY. The sample returns the keys of its n-th row. */
final case class FirstRows(keys: Seq[Expression], orders: Seq[KeyOrder]) extends NeededRows {
  override def condition(found: InternalRow, t: StructType): Option[Expression] =
    Some(AtOrBefore.condition(keys, orders, found, t))
}

/** The rows that decide MIN and MAX of columns. The sample returns the values for its own rows.
  *
  * The rows of the sample are read, too, so one of them has the value v that MIN(c) has there. A
  * row in which c is NULL, v or greater does not change MIN(c); MAX is its mirror image. A row that
  * changes none of the functions is not needed.
  */
final case class Extremes(columns: Seq[Extreme]) extends NeededRows {
  override def condition(found: InternalRow, t: StructType): Option[Expression] =
    Option.when(!columns.indices.forall(found.isNullAt)) {
      columns.zipWithIndex
        .map { case (column, i) =>
          column.changedBy(Literal(found.get(i, t(i).dataType), t(i).dataType))
        }
        .reduce[Expression](Or(_, _))
    }
}

/** MIN or MAX of a column. */
final case class Extreme(column: Expression, isMin: Boolean) {

  /** What holds for every row that may change the value. Spark's comparisons order values as MIN
    * and MAX do: NaN is the greatest one. -0.0 equals 0.0, and MIN may return either of them, so a
    * zero may change a zero.
    */
  def changedBy(value: Literal): Expression =
    if (value.value == null) IsNotNull(column)
    else if (TypeSets.isFloating(value.dataType))
      if (isMin) LessThanOrEqual(column, value) else GreaterThanOrEqual(column, value)
    else if (isMin) LessThan(column, value)
    else GreaterThan(column, value)
}
