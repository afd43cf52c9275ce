package io.tamis.rules

import io.tamis.source.{FileFormats, FixedFileIndex}
import io.tamis.wire.{Reason, Reasons}
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

  /** None: a table of tamis may take its place. Some(reason): for the person who asks why it was
    * left alone.
    */
  def refusal(relation: LogicalRelation): Option[Reason] = ofFiles(relation) { files =>
    first(
      !FileFormats.isParquet(files) -> "NOT_PARQUET",
      files.bucketSpec.isDefined -> "BUCKETED",
      relation.output.exists(isMetadata) -> "READS_METADATA"
    )
  }

  /** The same of the file index of a relation that stays Spark's own. */
  def swapRefusal(relation: LogicalRelation): Option[Reason] = ofFiles(relation) { files =>
    first(
      (!FileFormats.isParquet(files) && FileFormats.ofRows(files).isEmpty) -> "FORMAT_NOT_SERVED"
    )
  }

  /** What is asked of every relation, after what is asked of this one. */
  private def ofFiles(
      relation: LogicalRelation
  )(besides: HadoopFsRelation => Option[Reason]): Option[Reason] = relation.relation match {
    case _ if relation.isStreaming => Some(Reasons("STREAMING"))
    case files: HadoopFsRelation   =>
      besides(files).orElse(
        first(
          !lists(files) -> "FILE_INDEX_NOT_SPARKS",
          files.overlappedPartCols.nonEmpty -> "PARTITION_COLUMN_IN_FILES",
          files.schema.exists(f => holdsVariant(f.dataType)) -> "VARIANT_COLUMN",
          // columns are then matched by field id and not by name, and statistics are kept by name
          (SQLConf.get.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(
            files.schema
          )) -> "MATCHED_BY_FIELD_ID"
        )
      )
    case other => Some(Reasons("OTHER_SOURCE", "source" -> other.getClass.getSimpleName))
  }

  private def first(checks: (Boolean, String)*): Option[Reason] =
    checks.collectFirst { case (true, code) => Reasons(code) }

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
