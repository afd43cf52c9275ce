package io.tamis.formats

import io.tamis.remote.ExecutorJar
import io.tamis.runtime.UnscaledLong

import org.apache.spark.sql.{Column, Dataset, Row}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.functions.{col, lit}
import org.apache.spark.sql.types.DataType

/** Adds the unscaled values of decimals to rows, so that Spark adds up whole numbers. */
object UnscaledColumns {

  /** The rows with more columns: the unscaled values of others. They are unknown if these have
    * another type than expected, or if executors do not have the jar, whose code computes them.
    *
    * @param wanted
    *   the name of a new column, that of its decimals, and their type
    */
  def added(rows: Dataset[_], wanted: Seq[(String, String, DataType)]): Dataset[Row] = {
    val isThere = ExecutorJar.isThere(rows.sparkSession.sparkContext)
    val more = wanted.map { case (name, decimals, expected) =>
      val isKnown = isThere && rows.schema(decimals).dataType == expected
      val computed = if (isKnown) unscaled(rows.col(decimals)) else None
      computed.getOrElse(lit(UnscaledLong.Unknown)).as(name)
    }
    rows.select(rows.columns.toSeq.map(col) ++ more: _*)
  }

  /** Spark has no public way to make a Column of an expression: seen in Spark 4.0, 4.1 and 4.3.
    * None: this version has none either.
    */
  private def unscaled(decimals: Column): Option[Column] =
    try {
      val columns =
        Members.singleton(getClass.getClassLoader, "org.apache.spark.sql.classic.ExpressionUtils")
      val child = Members.get[Expression](columns, "expression", decimals)
      Some(Members.get[Column](columns, "column", UnscaledLong(child)))
    } catch {
      case _: ReflectiveOperationException => None
    }
}
