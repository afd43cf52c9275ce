package io.tamis.rules.relations

import io.tamis.formats.delta.{DeltaFeatures, DeltaFiles}
import io.tamis.listing.FileFormats
import io.tamis.scan.FixedFileIndex
import io.tamis.wire.{Reason, Reasons}
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

/** Decides which relations tamis may take over, and for which others it may choose the files. All
  * others stay exactly as they are.
  */
object Eligibility {

  /** Why tamis leaves the relation to Spark, for explanations; None: a table of tamis may replace
    * it.
    */
  def refusal(relation: LogicalRelation): Option[Reason] = ofFiles(relation) { files =>
    val ofFormat = files match {
      case DeltaFiles(delta) => delta.ofDeltasRelation
      case _                 => first(!FileFormats.isParquet(files) -> "NOT_PARQUET")
    }
    ofFormat.orElse(
      first(
        files.bucketSpec.isDefined -> "BUCKETED",
        relation.output.exists(isMetadata) -> "READS_METADATA"
      )
    )
  }

  /** Why the file index of a relation that stays Spark's own must not be replaced; None: it may be.
    */
  def swapRefusal(relation: LogicalRelation): Option[Reason] = ofFiles(relation) { files =>
    val isKnown = FileFormats.isParquet(files) || FileFormats.ofRows(files).isDefined
    files match {
      case DeltaFiles(delta) => delta.ofDeltasIndex(relation.output.exists(isMetadata))
      case _                 =>
        DeltaFiles.unprepared(files).orElse(first(!isKnown -> "UNSUPPORTED_FORMAT"))
    }
  }

  /** The checks `besides`, and then those that every relation has to pass. */
  private def ofFiles(
      relation: LogicalRelation
  )(besides: HadoopFsRelation => Option[Reason]): Option[Reason] = relation.relation match {
    case _ if relation.isStreaming => Some(Reasons("STREAMING"))
    case files: HadoopFsRelation   =>
      val ofFormat = DeltaFeatures.unknown(files).orElse(besides(files))
      ofFormat.orElse(
        first(
          !lists(files) -> "FOREIGN_FILE_INDEX",
          // Delta takes their values from its log, as Spark does
          (files.overlappedPartCols.nonEmpty && !isOfFormat(files)) -> "PARTITION_COLUMN_IN_FILES",
          // Delta's reader stays in place for such a table, with the plan that Spark makes for it
          hasForeignVariant(files) -> "VARIANT_COLUMN",
          // the reader fills such a column with row positions if the files do not contain it
          files.schema.exists(_.name.equalsIgnoreCase(RowIndexColumn)) -> "ROW_INDEX_COLUMN",
          // columns are then matched by field id and not by name, but statistics are stored by name
          isMatchedByFieldId(files.schema) -> "MATCHED_BY_FIELD_ID",
          !isReadAlike(files) -> "OTHER_SESSION"
        )
      )
    case other => Some(Reasons("OTHER_SOURCE", "source" -> other.getClass.getSimpleName))
  }

  /** The name of a column that Spark's Parquet reader generates (4.0 to 4.3). */
  private val RowIndexColumn = ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME

  private def first(checks: (Boolean, String)*): Option[Reason] =
    checks.collectFirst { case (true, code) => Reasons(code) }

  /** Whether Spark itself, and no table format that tamis knows, reads a VARIANT column. */
  private def hasForeignVariant(files: HadoopFsRelation): Boolean =
    files.schema.exists(f => holdsVariant(f.dataType)) && !isOfFormat(files)

  /** Whether a table format that tamis knows has listed the files. */
  private def isOfFormat(files: HadoopFsRelation): Boolean = DeltaFiles.unapply(files).isDefined

  private def lists(files: HadoopFsRelation): Boolean = isOfFormat(files) || (files.location match {
    case _: FixedFileIndex             => false // a file index of tamis: it was already swapped
    case _: PartitioningAwareFileIndex => true
    case _: CatalogFileIndex           => true
    case _                             => false
  })

  /** Whether the session of the relation, whose confs Spark's own scan uses, has the same confs of
    * readers as this one. A global temporary view of a DataFrame brings the session in which the
    * DataFrame was created. Cached plans and streams have clones of their session, which agree.
    */
  def isReadAlike(files: HadoopFsRelation): Boolean = {
    val (own, active) = (files.sparkSession.sessionState.conf, SQLConf.get)
    (own eq active) || ofReaders(own) == ofReaders(active)
  }

  private def ofReaders(conf: SQLConf): Map[String, String] =
    conf.getAllConfs.filter { case (key, _) => ReaderConfs.exists(key.startsWith) }

  /** Prefixes of confs on which the rows that readers return may depend, and of credentials. */
  private val ReaderConfs = Seq(
    "fs.",
    "parquet.",
    "spark.hadoop.",
    "spark.sql.caseSensitive",
    "spark.sql.files.",
    "spark.sql.legacy.",
    "spark.sql.orc.",
    "spark.sql.parquet.",
    "spark.sql.session.timeZone"
  )

  def isMatchedByFieldId(schema: StructType): Boolean =
    SQLConf.get.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(schema)

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

  /** Plans that rewrite rows of a table in place; their scans determine which files the writer
    * replaces.
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
