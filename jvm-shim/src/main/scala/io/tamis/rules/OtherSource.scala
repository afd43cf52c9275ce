package io.tamis.rules

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Attribute, MetadataAttribute}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.jdbc.JdbcDialects
import org.apache.spark.sql.types.{StringType, StructField, StructType}

/** A relation that tamis does not scan, and whose push-down is known to keep every row of which the
  * pushed predicate is true.
  *
  * @param columns
  *   those that a range may be added for
  * @param comparesAsSpark
  *   false: the source compares its own values, which Spark may have rounded, cut or moved to
  *   another time zone when it read them; ranges are then widened
  * @param ordersText
  *   strings are ordered by their bytes, as in Spark
  */
final case class OtherSource(
    columns: Seq[Attribute],
    comparesAsSpark: Boolean,
    ordersText: Boolean
) {
  private val ranged =
    columns.filter(a => ordersText || a.dataType != StringType).map(_.exprId).toSet

  def canRange(a: Attribute): Boolean = ranged(a.exprId)
  def schema: StructType = StructType(columns.map(a => StructField(a.name, a.dataType)))
}

/** Which sources these are. Classes are told by name: some are private to Spark, and some come with
  * jars that are not there. Every source that is not listed is left alone.
  */
object OtherSource {

  def unapply(plan: LogicalPlan): Option[OtherSource] = plan match {
    case r: LogicalRelation if !r.isStreaming =>
      r.relation match {
        case files: HadoopFsRelation =>
          val partitions = files.partitionSchema.fieldNames.toSet // Spark prunes by them itself
          ofFiles(files).map(_.over(r.output.filterNot(a => partitions(a.name))))
        case other if other.getClass.getSimpleName == "JDBCRelation" =>
          ofDatabase(other).map(_.over(r.output))
        case _ => None
      }
    case r: DataSourceV2Relation => ofTable(r).map(_.over(r.output))
    case _                       => None
  }

  private final case class Kind(comparesAsSpark: Boolean, ordersText: Boolean) {
    def over(output: Seq[Attribute]): OtherSource =
      OtherSource(output.filterNot(isMetadata), comparesAsSpark, ordersText)
  }

  /** Filters run over values as Spark reads them, or over statistics of these. */
  private val Exact = Kind(comparesAsSpark = true, ordersText = true)

  /** ORC's timestamps are clocks, and its reader takes them for moments of its own time zone. */
  private val Orc = Kind(comparesAsSpark = false, ordersText = true)
  private val Database = Kind(comparesAsSpark = false, ordersText = false)

  private val Kinds: Map[String, Kind] = Map(
    "ParquetFileFormat" -> Exact,
    "ParquetTable" -> Exact,
    "OrcFileFormat" -> Orc,
    "OrcTable" -> Orc,
    "CSVFileFormat" -> Exact,
    "CSVTable" -> Exact,
    "JsonFileFormat" -> Exact,
    "JsonTable" -> Exact,
    "AvroFileFormat" -> Exact,
    "AvroTable" -> Exact
  )

  private def ofClass(c: Class[_]): Option[Kind] = {
    val name = c.getName
    if (name.startsWith("org.apache.spark.sql.delta.") || name == IcebergTable) Some(Exact)
    else if (name.startsWith("org.apache.spark.sql.")) Kinds.get(c.getSimpleName)
    else None
  }
  private val IcebergTable = "org.apache.iceberg.spark.source.SparkTable"

  private def ofFiles(files: HadoopFsRelation): Option[Kind] =
    ofClass(files.fileFormat.getClass).filterNot(_ =>
      raises(files.options) || isMatchedByFieldId(files.schema)
    )

  private def ofTable(relation: DataSourceV2Relation): Option[Kind] = relation.table match {
    case files: FileTable =>
      ofClass(files.getClass).filterNot(_ =>
        raises(Map("mode" -> relation.options.getOrDefault("mode", ""))) ||
          isMatchedByFieldId(files.schema)
      )
    case table if table.getClass.getSimpleName == "JDBCTable" => ofDatabase(table)
    case table                                                => ofClass(table.getClass)
  }

  /** A dialect that Spark knows: the constants of others are not known to be understood as meant. A
    * column that the query types otherwise than the database may not be comparable there at all.
    */
  private def ofDatabase(relation: AnyRef): Option[Kind] =
    Try(relation.getClass.getMethod("jdbcOptions").invoke(relation)).toOption.collect {
      case options: JDBCOptions
          if options.customSchema.isEmpty &&
            !JdbcDialects.get(options.url).getClass.getSimpleName.startsWith("Noop") =>
        Database
    }

  /** Readers that raise what is malformed would not see it in rows that were dropped before. */
  private def raises(options: Map[String, String]): Boolean =
    options.exists { case (key, value) =>
      key.equalsIgnoreCase("mode") && value.equalsIgnoreCase("FAILFAST")
    }

  /** Push-down goes by name, which is then another column's. */
  private def isMatchedByFieldId(schema: StructType): Boolean =
    SQLConf.get.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(schema)

  private def isMetadata(a: Attribute): Boolean = a match {
    case MetadataAttribute(_) => true
    case _                    => false
  }
}
