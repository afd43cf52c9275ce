package io.tamis.rules.relations

import io.tamis.remote.RemoteTable
import io.tamis.wire.TypeSets
import java.util.Locale

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.jdbc.JdbcDialects
import org.apache.spark.sql.types.{DateType, StringType, StructField, StructType}

/** A relation that tamis does not scan, and whose push-down is known to keep every row for which
  * the pushed predicate is true.
  *
  * @param output
  *   its columns; questions about them need all names
  * @param ranged
  *   the columns for which a range may be added
  * @param comparesAsSpark
  *   false: the source compares its own values, which Spark may have rounded, truncated or moved to
  *   another time zone when it read them; ranges are then widened
  */
final case class OtherSource(
    output: Seq[Attribute],
    ranged: Set[ExprId],
    comparesAsSpark: Boolean
) {
  def canRange(a: Attribute): Boolean = ranged(a.exprId)
  def isRanged: Boolean = ranged.nonEmpty
  def schema: StructType = StructType(output.map(a => StructField(a.name, a.dataType)))
}

/** Recognizes these sources by class name, because some classes are private to Spark and some come
  * with jars that may be absent. A source that is not listed is left to Spark.
  */
object OtherSource {

  def unapply(plan: LogicalPlan): Option[OtherSource] = plan match {
    case _ if plan.isStreaming  => None
    case FileRelation(r, files) =>
      // Spark prunes by partitions and buckets itself. An implied equality would make it prune
      // buckets, which loses rows of files that were written with another number of buckets.
      val buckets = files.bucketSpec.toSeq.flatMap(_.bucketColumnNames)
      val excluded = (files.partitionSchema.fieldNames ++ buckets).map(_.toLowerCase(Locale.ROOT))
      val output = r.output.filterNot(a => excluded.contains(a.name.toLowerCase(Locale.ROOT)))
      ofFiles(files).map(_.over(output))
    case r: LogicalRelation if r.relation.getClass.getSimpleName == "JDBCRelation" =>
      ofDatabase(r.relation).map(_.over(r.output))
    case r: DataSourceV2Relation => ofTable(r).map(_.over(r.output))
    case r: HiveTableRelation    => ofMetastore(r).map(_.over(r.output))
    case _                       => None
  }

  private final case class Kind(comparesAsSpark: Boolean, ranges: Attribute => Boolean) {
    def over(output: Seq[Attribute]): OtherSource = {
      val columns = output.filterNot(Eligibility.isMetadata)
      OtherSource(columns, columns.filter(ranges).map(_.exprId).toSet, comparesAsSpark)
    }
  }

  /** Filters apply to values as Spark reads them, or to statistics of these; strings are ordered by
    * their bytes.
    */
  private val Exact = Kind(comparesAsSpark = true, _ => true)

  /** ORC's timestamps are local times, and its reader interprets them in its own time zone. Hudi
    * keeps its statistics of columns in other types and units.
    */
  private val Converted = Kind(comparesAsSpark = false, _ => true)

  /** JSON is not among them. If a record has a key twice, the last value counts, but the parser
    * applies a pushed filter to the first one, and drops the record {"a":1,"a":2} for `a = 2`.
    */
  private val Kinds: Map[String, Kind] = Map(
    "ParquetFileFormat" -> Exact,
    "ParquetTable" -> Exact,
    "OrcFileFormat" -> Converted,
    "OrcTable" -> Converted,
    "CSVFileFormat" -> Exact,
    "CSVTable" -> Exact,
    "AvroFileFormat" -> Exact,
    "AvroTable" -> Exact,
    // Hudi 1.0 and 1.1, whose formats are in a package of Spark
    "HoodieFileGroupReaderBasedParquetFileFormat" -> Converted,
    "HoodieFileGroupReaderBasedFileFormat" -> Converted
  )

  private def ofClass(c: Class[_]): Option[Kind] = {
    val name = c.getName
    if (
      name.startsWith("org.apache.spark.sql.delta.") || name == IcebergTable ||
      c == classOf[RemoteTable]
    ) Some(Exact)
    else if (name.startsWith("org.apache.spark.sql.")) Kinds.get(c.getSimpleName)
    else None
  }
  private val IcebergTable = "org.apache.iceberg.spark.source.SparkTable"

  private def ofFiles(files: HadoopFsRelation): Option[Kind] =
    ofClass(files.fileFormat.getClass).filterNot(_ => isUnsafe(files.options, files.schema))

  private def ofTable(relation: DataSourceV2Relation): Option[Kind] = relation.table match {
    case files: FileTable =>
      val options = Map("mode" -> relation.options.getOrDefault("mode", ""))
      ofClass(files.getClass).filterNot(_ => isUnsafe(options, files.schema))
    case table if table.getClass.getSimpleName == "JDBCTable" => ofDatabase(table)
    case table                                                => ofClass(table.getClass)
  }

  /** A column that the query types differently from the database (customSchema) may not be
    * comparable there at all.
    */
  private def ofDatabase(relation: AnyRef): Option[Kind] =
    relation.getClass.getMethod("jdbcOptions").invoke(relation) match {
      case options: JDBCOptions if options.customSchema.isEmpty =>
        val dialect = JdbcDialects.get(options.url).getClass.getSimpleName.stripSuffix("$")
        Databases.get(dialect).map(is => Kind(comparesAsSpark = false, is))
      case _ => None
    }

  /** Databases order strings by their own rules for case, language and padding.
    *
    * A TIME is read as a moment of 1970-01-01, but compared as a time of day: if constants are
    * written in another time zone than values are read in, a range around midnight is not a range
    * of times.
    */
  private def isComparable(a: Attribute): Boolean =
    a.dataType != StringType && !a.metadata.contains("logical_time_type")

  /** Dialects of Spark whose databases read `'1995-01-31'` as that day whatever their settings.
    *
    * Not included are Teradata and Snowflake, where a setting determines how a date is written, and
    * timestamps of SQL Server: its DATETIME reads day and month depending on the language, and has
    * no microseconds.
    */
  private val Databases: Map[String, Attribute => Boolean] =
    Seq("DB2", "Derby", "H2", "MySQL", "Oracle", "Postgres")
      .map(name => s"${name}Dialect" -> isComparable _)
      .toMap
      .updated("MsSqlServerDialect", a => isComparable(a) && !TypeSets.isTimestamp(a.dataType))

  /** The Hive metastore finds partitions by ranges of whole numbers and dates. A table that is read
    * through a SerDe has no other push-down.
    *
    * Depending on its configuration the metastore may refuse a range: then the query must be able
    * to continue with all partitions.
    */
  private def ofMetastore(relation: HiveTableRelation): Option[Kind] = {
    val partitions = relation.partitionCols.map(_.exprId).toSet
    def isFound(a: Attribute) =
      partitions(a.exprId) && (TypeSets.isWhole(a.dataType) || a.dataType == DateType)
    val conf = SQLConf.get
    Some(Kind(comparesAsSpark = false, isFound)).filter(_ =>
      conf.metastorePartitionPruning && conf.metastorePartitionPruningFallbackOnException
    )
  }

  /** Push-down goes by name, which belongs to another column if columns are matched by field id. */
  private def isUnsafe(options: Map[String, String], schema: StructType): Boolean =
    raises(options) || Eligibility.isMatchedByFieldId(schema)

  /** Readers that raise errors for malformed records would not see those in rows that were dropped
    * before.
    */
  private def raises(options: Map[String, String]): Boolean =
    options.exists { case (key, value) =>
      key.equalsIgnoreCase("mode") && value.equalsIgnoreCase("FAILFAST")
    }
}
