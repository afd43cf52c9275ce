package io.tamis.rules

import org.apache.spark.sql.catalyst.expressions.{Attribute, MetadataAttribute}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  HadoopFsRelation,
  LogicalRelation,
  PartitioningAwareFileIndex
}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetUtils}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

/** Which relations tamis may take over. Every other is left exactly as it was. */
object Eligibility {

  /** None: eligible. Some(reason): a sentence for the person who asks why it was left alone. */
  def refusal(relation: LogicalRelation): Option[String] = relation.relation match {
    case files: HadoopFsRelation => refusal(relation, files)
    case _                       => Some("it is not a file relation")
  }

  private def refusal(relation: LogicalRelation, files: HadoopFsRelation): Option[String] = {
    val checks: Seq[(Boolean, String)] = Seq(
      relation.isStreaming -> "it is a streaming relation",
      // subclasses (Delta's format, vendors' forks) give the files another meaning: exactly this class
      (files.fileFormat.getClass != classOf[
        ParquetFileFormat
      ]) -> "its format is not Spark's own Parquet",
      !lists(files) -> "its file index is not one of Spark's own",
      files.bucketSpec.isDefined -> "it is bucketed",
      files.overlappedPartCols.nonEmpty -> "a partition column is also a column of the files",
      relation.output.exists(isMetadata) -> "it reads the _metadata column",
      files.schema.exists(f => holdsVariant(f.dataType)) -> "it has a VARIANT column",
      // columns are then matched by field id and not by name, and statistics are kept by name
      (SQLConf.get.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(
        files.schema
      )) -> "its columns are matched by Parquet field id"
    )
    checks.collectFirst { case (true, sentence) => sentence }
  }

  private def lists(files: HadoopFsRelation): Boolean = files.location match {
    case _: PartitioningAwareFileIndex => true
    case _: CatalogFileIndex           => true
    case _                             => false
  }

  private def isMetadata(attribute: Attribute): Boolean = attribute match {
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
