package io.tamis.formats

import io.tamis.runtime.UnscaledLong

import org.apache.spark.sql.{Column, Dataset, Row}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.functions.{col, lit}
import org.apache.spark.sql.types.DataType

/** Adds the unscaled values of decimals to rows, so that Spark adds up whole numbers. */
object UnscaledColumns {

  /** The rows with more columns: the unscaled values of others, unknown if these have another type
    * than expected.
    *
    * @param wanted
    *   the name of a new column, that of its decimals, and their type
    */
  def added(rows: Dataset[_], wanted: Seq[(String, String, DataType)]): Dataset[Row] = {
    val more = wanted.map { case (name, decimals, expected) =>
      val isExpected = rows.schema(decimals).dataType == expected
      (if (isExpected) unscaled(rows.col(decimals)) else lit(UnscaledLong.Unknown)).as(name)
    }
    rows.select(rows.columns.toSeq.map(col) ++ more: _*)
  }

  /** Spark has no public way to make a Column of an expression: seen in Spark 4.0 to 4.3. */
  private def unscaled(decimals: Column): Column = {
    val columns =
      Members.singleton(getClass.getClassLoader, "org.apache.spark.sql.classic.ExpressionUtils")
    val child = Members.get[Expression](columns, "expression", decimals)
    Members.get[Column](columns, "column", UnscaledLong(child))
  }
}
