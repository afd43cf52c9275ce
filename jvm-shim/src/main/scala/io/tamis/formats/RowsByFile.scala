package io.tamis.formats

import io.tamis.remote.ExecutorJar
import io.tamis.runtime.{ExactSum, FileId, HllOfValues, UnscaledLong}

import org.apache.spark.sql.{Column, Dataset, Row}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.functions.{col, expr, lit}
import org.apache.spark.sql.types.{DataType, LongType}

/** Aggregates the rows of each file, faster than with Spark's functions alone. */
object RowsByFile {

  /** The rows with the column `id` instead of `file`, `size` and `mtime`: see [[FileId]]. */
  def numbered(rows: Dataset[_]): Dataset[Row] = {
    val named = Seq("file", "size", "mtime")
    val others = rows.columns.toSeq.filterNot(named.contains).map(col)
    val id = computed(rows, named.map(rows.col)) { case Seq(path, size, modified) =>
      FileId(path, size, modified)
    }
    rows.select(id.getOrElse(expr(InSql)).as("id") +: others: _*)
  }

  /** A [[FileId]] in SQL. */
  private val InSql =
    "xxhash64(regexp_replace(file, '^([A-Za-z][A-Za-z0-9+.-]*):///', '$1:/'), size, mtime)"

  /** Sums `sum<k>` of columns `v<k>`, and other aggregates, by the values of some columns. None if
    * executors do not have the jar, whose code computes the sums: see [[ExactSum]].
    *
    * @param keys
    *   the names of the columns by which the rows are grouped
    * @param others
    *   other aggregates, as SQL
    * @param types
    *   of the columns to add up, by k
    */
  def summed(
      rows: Dataset[_],
      keys: Seq[String],
      others: Seq[String],
      types: Seq[(Int, DataType)]
  ): Option[Dataset[Row]] = {
    val unscaled = types.map { case (k, t) => numbers(rows, s"v$k", t).map(_.as(s"u$k")) }
    val sums = types.map { case (k, t) =>
      val hasUnknown = t != LongType
      computed(rows, Seq(col(s"u$k"))) { case Seq(number) => ExactSum(number, hasUnknown) }
        .map(_.as(s"sum$k"))
    }
    Option.when((unscaled ++ sums).forall(_.nonEmpty)) {
      val all = rows.select(rows.columns.toSeq.map(col) ++ unscaled.flatten: _*)
      grouped(all, keys, others.map(expr) ++ sums.flatten)
    }
  }

  /** The registers `registers<k>` of approx_count_distinct of columns, and other aggregates, by the
    * values of some columns. None if executors do not have the jar: see [[HllOfValues]].
    *
    * @param wanted
    *   k, the number of the value, and the relative standard deviation
    */
  def sketched(
      rows: Dataset[_],
      keys: Seq[String],
      others: Seq[String],
      wanted: Seq[(Int, Int, Double)]
  ): Option[Dataset[Row]] = {
    val registers = wanted.map { case (k, source, deviation) =>
      computed(rows, Seq(col(s"v$source"))) { case Seq(v) => HllOfValues(v, deviation) }
        .map(_.as(s"registers$k"))
    }
    Option.when(registers.forall(_.nonEmpty)) {
      grouped(rows, keys, others.map(expr) ++ registers.flatten)
    }
  }

  private def grouped(rows: Dataset[_], keys: Seq[String], wanted: Seq[Column]): Dataset[Row] =
    rows.groupBy(keys.map(col): _*).agg(wanted.head, wanted.tail: _*)

  /** Whole numbers, or the unscaled values of decimals. These are unknown if the column has another
    * type than expected.
    */
  private def numbers(rows: Dataset[_], name: String, expected: DataType): Option[Column] =
    if (expected == LongType) Some(rows.col(name).cast(LongType))
    else if (rows.schema(name).dataType != expected) Some(lit(UnscaledLong.Unknown))
    else computed(rows, Seq(rows.col(name))) { case Seq(decimals) => UnscaledLong(decimals) }

  private def computed(rows: Dataset[_], columns: Seq[Column])(
      make: PartialFunction[Seq[Expression], Expression]
  ): Option[Column] =
    if (!ExecutorJar.isThere(rows.sparkSession.sparkContext)) None
    else
      ExpressionColumns.of(columns: _*) { inputs =>
        make(inputs) match {
          case f: AggregateFunction => f.toAggregateExpression()
          case e                    => e
        }
      }
}
