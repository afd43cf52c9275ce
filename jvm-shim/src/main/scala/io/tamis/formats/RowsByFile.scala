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

  /** Rows by the values of some columns, with aggregates. None if executors do not have the jar,
    * whose code computes the sums and registers: see [[ExactSum]] and [[HllOfValues]].
    *
    * @param keys
    *   the names of the columns by which the rows are grouped
    * @param others
    *   other aggregates, as SQL
    * @param sums
    *   the types of the columns `v<k>` to add up as `sum<k>`, by k
    * @param sketches
    *   for `registers<k>` of approx_count_distinct: k, the number of the value, and the relative
    *   standard deviation
    */
  def aggregated(
      rows: Dataset[_],
      keys: Seq[String],
      others: Seq[String],
      sums: Seq[(Int, DataType)],
      sketches: Seq[(Int, Int, Double)]
  ): Option[Dataset[Row]] = {
    val unscaled = sums.map { case (k, t) => numbers(rows, s"v$k", t).map(_.as(s"u$k")) }
    val added = sums.map { case (k, t) =>
      val hasUnknown = t != LongType
      computed(rows, Seq(col(s"u$k"))) { case Seq(number) => ExactSum(number, hasUnknown) }
        .map(_.as(s"sum$k"))
    }
    val registers = sketches.map { case (k, source, deviation) =>
      computed(rows, Seq(col(s"v$source"))) { case Seq(v) => HllOfValues(v, deviation) }
        .map(_.as(s"registers$k"))
    }
    Option.when((unscaled ++ added ++ registers).forall(_.nonEmpty)) {
      val all = rows.select(rows.columns.toSeq.map(col) ++ unscaled.flatten: _*)
      val wanted = others.map(expr) ++ added.flatten ++ registers.flatten
      all.groupBy(keys.map(col): _*).agg(wanted.head, wanted.tail: _*)
    }
  }

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
