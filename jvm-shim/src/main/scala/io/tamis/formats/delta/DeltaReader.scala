package io.tamis.formats.delta

import io.tamis.formats.Members

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

  /** Why Spark's own Parquet reader may find other values in the files; None: it does not. */
  def refusal: Option[String] =
    if (columnMapping != "none")
      Some("its columns have other names in the files (column mapping)")
    else if (needsRelation || widensTypes)
      Some("it uses a feature that only Delta's own reader supports")
    else None

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

  // features of tables whose files Spark's own reader may read differently
  private val Widening = Set("typeWidening", "typeWidening-preview")
  private val Variant = Set(
    "variantType",
    "variantType-preview",
    "variantShredding",
    "variantShredding-preview"
  )
}
