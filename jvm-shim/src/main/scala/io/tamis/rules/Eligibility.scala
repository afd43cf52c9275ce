package io.tamis.rules

import io.tamis.source.{FileFormats, FixedFileIndex}
import org.apache.spark.sql.catalyst.expressions.{Attribute, MetadataAttribute}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  HadoopFsRelation,
  LogicalRelation,
  PartitioningAwareFileIndex
}
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

/** Which relations tamis may take over, and of which others it may choose the files. Every other is
  * left exactly as it was.
  */
object Eligibility {

  /** None: a table of tamis may take its place. Some(reason): a sentence for the person who asks
    * why it was left alone.
    */
  def refusal(relation: LogicalRelation): Option[String] = ofFiles(relation) { files =>
    first(
      !FileFormats.isParquet(files) -> "its format is not Spark's own Parquet",
      files.bucketSpec.isDefined -> "it is bucketed",
      relation.output.exists(isMetadata) -> "it reads the _metadata column"
    )
  }

  /** The same of the file index of a relation that stays Spark's own. */
  def swapRefusal(relation: LogicalRelation): Option[String] = ofFiles(relation) { files =>
    first(
      (!FileFormats.isParquet(files) && FileFormats.ofRows(files).isEmpty) ->
        "its format is not Parquet, ORC, CSV or JSON as Spark itself reads them"
    )
  }

  /** What is asked of every relation, after what is asked of this one. */
  private def ofFiles(
      relation: LogicalRelation
  )(besides: HadoopFsRelation => Option[String]): Option[String] = relation.relation match {
    case _ if relation.isStreaming => Some("it is a streaming relation")
    case files: HadoopFsRelation   =>
      besides(files).orElse(
        first(
          !lists(files) -> "its file index is not one of Spark's own",
          files.overlappedPartCols.nonEmpty -> "a partition column is also a column of the files",
          files.schema.exists(f => holdsVariant(f.dataType)) -> "it has a VARIANT column",
          // columns are then matched by field id and not by name, and statistics are kept by name
          (SQLConf.get.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(
            files.schema
          )) -> "its columns are matched by Parquet field id"
        )
      )
    case _ => Some("it is not a file relation")
  }

  private def first(checks: (Boolean, String)*): Option[String] =
    checks.collectFirst { case (true, sentence) => sentence }

  private def lists(files: HadoopFsRelation): Boolean = files.location match {
    case _: FixedFileIndex             => false // of tamis: it was swapped before
    case _: PartitioningAwareFileIndex => true
    case _: CatalogFileIndex           => true
    case _                             => false
  }

  def isMetadata(attribute: Attribute): Boolean = attribute match {
    case MetadataAttribute(_) => true
    case _                    => false
  }

  private def holdsVariant(dataType: DataType): Boolean = dataType match {
    case s: StructType => s.exists(f => holdsVariant(f.dataType))
    case a: ArrayType  => holdsVariant(a.elementType)
    case m: MapType    => holdsVariant(m.keyType) || holdsVariant(m.valueType)
    case other         => other.typeName == "variant"
  }

  /** Plans that rewrite rows of a table in place; their scans tell the writer which files to
    * replace.
    */
  private val RowLevelWrites = Set(
    "ReplaceData",
    "WriteDelta",
    "MergeRows",
    "DeleteFromTable",
    "UpdateTable",
    "MergeIntoTable"
  )

  def isRowLevelWrite(plan: LogicalPlan): Boolean =
    plan.exists(node => RowLevelWrites(node.nodeName))
}
