package io.tamis.formats

import io.tamis.remote.ExecutorJar
import io.tamis.runtime.{FileId, HllMerged, UnscaledLong}

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.{Column, Dataset, Row}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.classic.{Dataset => ClassicDataset}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.FileScanRDD
import org.apache.spark.sql.functions.{bool_or, col, expr, lit, max, min, sum}
import org.apache.spark.sql.types._

/** Aggregates the rows of each file, faster than with Spark's functions: see [[GroupsOfTask]]. */
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

  /** One row for each file and group of rows, with the number `n` of its rows. None if executors do
    * not have the jar.
    *
    * @param keys
    *   the names of the columns by which the rows are grouped, `id` first
    * @param most
    *   the most groups of a file. If it has more, some of its rows are left out, which `n` shows.
    * @param wanted
    *   what to compute of each group
    */
  def aggregated(
      rows: Dataset[_],
      keys: Seq[String],
      most: Int,
      wanted: Seq[OfGroup]
  ): Option[Dataset[Row]] = {
    val inputs = wanted.map(inputOf(rows, _))
    Option.when(ExecutorJar.isThere(rows.sparkSession.sparkContext) && inputs.forall(_.nonEmpty)) {
      val named = inputs.flatten.zipWithIndex.map { case (input, k) => input.as(s"input $k") }
      val chosen = rows.select(keys.map(col) ++ named: _*).asInstanceOf[ClassicDataset[Row]]
      val groups = new GroupsOfTask(chosen.schema, keys.size, most, wanted)
      val plan = chosen.queryExecution
      val partial =
        SparkRows.query(chosen.sparkSession, plan.toRdd.mapPartitions(groups(_)), groups.schema)
      if (readsWholeFiles(plan.executedPlan)) partial else merged(partial, keys, wanted)
    }
  }

  /** Whether no file is read in parts, which may be in different tasks. */
  private def readsWholeFiles(plan: SparkPlan): Boolean = plan.collectLeaves() match {
    case Seq(scan: FileSourceScanExec) =>
      scan.inputRDDs() match {
        case Seq(files: FileScanRDD) =>
          val parts = files.filePartitions.flatMap(_.files.map(_.filePath))
          parts.distinct.size == parts.size
        case _ => false
      }
    case _ => false
  }

  /** The groups of files that several tasks have read. */
  private def merged(partial: Dataset[Row], keys: Seq[String], wanted: Seq[OfGroup]) = {
    val parts = wanted.flatMap {
      case OfGroup.Seen(name, _)  => Seq(bool_or(col(name)).as(name))
      case OfGroup.Count(name, _) => Seq(sum(name).as(name))
      // NULL: a value or the sum of a part does not fit a LONG, or that of all parts does not
      case each: OfGroup.Sum =>
        each.sums.map(f => expr(s"IF(count_if($f IS NULL) > 0, NULL, try_sum($f))").as(f)) :+
          sum(each.count).as(each.count)
      case OfGroup.Extreme(name, _, isMax) => Seq((if (isMax) max(name) else min(name)).as(name))
      case OfGroup.Registers(name, _, deviation) =>
        computed(partial, Seq(col(name))) { case Seq(e) => HllMerged(e, deviation) }
          .map(_.as(name))
          .toSeq
    }
    partial.groupBy(keys.map(col): _*).agg(sum("n").as("n"), parts: _*)
  }

  /** What [[GroupsOfTask]] reads in each row for a part of the result. */
  private def inputOf(rows: Dataset[_], wanted: OfGroup): Option[Column] = wanted match {
    case OfGroup.Count(_, source)     => Some(rows.col(source).isNotNull)
    case OfGroup.Sum(_, source, kind) => numbers(rows, source, kind)
    case other                        => Some(rows.col(other.source))
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

/** What to compute of each group of rows, from the column `source` of its rows. */
sealed trait OfGroup {
  def source: String
}

object OfGroup {

  /** Whether a flag is set in some row. */
  final case class Seen(name: String, source: String) extends OfGroup

  /** The number of values. */
  final case class Count(name: String, source: String) extends OfGroup

  /** The sums `positive<k>` and `negative<k>` of the values above and below zero, as whole numbers,
    * and the number `count<k>` of values. A sum is NULL if it does not fit a LONG.
    */
  final case class Sum(k: Int, source: String, kind: DataType) extends OfGroup {
    def sums: Seq[String] = Seq(s"positive$k", s"negative$k")
    def count: String = s"count$k"
  }

  /** The least or the greatest value. */
  final case class Extreme(name: String, source: String, isMax: Boolean) extends OfGroup

  /** The registers of approx_count_distinct. */
  final case class Registers(name: String, source: String, deviation: Double) extends OfGroup

  /** As Python writes it: {"kind": "sum", "k": 2, "source": "v1", "type": "DECIMAL(12,2)"}. */
  def of(json: JsonNode): OfGroup = {
    val (k, source) = (json.path("k").asInt, json.path("source").asText)
    json.path("kind").asText match {
      case "seen"      => Seen(s"old$k", source)
      case "count"     => Count(s"count$k", source)
      case "sum"       => Sum(k, source, DataType.fromDDL(json.path("type").asText))
      case "min"       => Extreme(s"value$k", source, isMax = false)
      case "max"       => Extreme(s"value$k", source, isMax = true)
      case "registers" => Registers(s"registers$k", source, json.path("deviation").asDouble)
      case other       => throw new IllegalArgumentException(other)
    }
  }
}
