package io.tamis.formats.delta

import io.tamis.formats.Members

import org.apache.spark.sql.types.StructType

/** How Delta reads the files of a relation.
  *
  * @param format
  *   Delta's file format: seen in Delta 4.4.0 for Spark 4.1
  */
private[delta] final class DeltaReader(format: AnyRef) {
  val metadata: AnyRef = Members.call(format, "metadata")

  /** none, name or id */
  def columnMapping: String =
    Members.get[String](Members.call(metadata, "columnMappingMode"), "name")

  /** Whether columns may have other names in the files. */
  def mapsColumns: Boolean = columnMapping != "none"

  /** Whether Spark's own Parquet reader may find other values in the files. */
  def isNeeded: Boolean = mapsColumns || needsRelation || widensTypes

  /** Why no index describes the files; None: one may. */
  def refusal: Option[String] =
    if (needsRelation || widensTypes)
      Some("it uses a feature that only Delta's own reader supports")
    else if (!DeltaReader.Mappings(columnMapping))
      Some(s"it has the unknown column mapping $columnMapping")
    else None

  def schema: StructType = Members.get[StructType](metadata, "schema")
  def partitionColumns: Seq[String] = Members.get[Seq[String]](metadata, "partitionColumns")

  /** Whether rules of Spark and Delta look for Delta's own relation, to read a part of VARIANT
    * columns or to add the columns of changes.
    */
  def needsRelation: Boolean = isOfChanges || features.exists(DeltaReader.Variant)

  private def isOfChanges: Boolean = Members.get[Boolean](format, "isCDCRead")

  /** Whether files may hold columns in another type than the table, which Delta checks when it
    * reads them.
    */
  private def widensTypes: Boolean = features.exists(DeltaReader.Widening)

  private lazy val features =
    Members.get[Set[String]](Members.call(format, "protocol"), "readerAndWriterFeatureNames")
}

private object DeltaReader {
  private val Mappings = Set("none", "name", "id")

  // features of tables whose files Spark's own reader may read differently
  private val Widening = Set("typeWidening", "typeWidening-preview")
  private val Variant = Set(
    "variantType",
    "variantType-preview",
    "variantShredding",
    "variantShredding-preview"
  )
}
