package io.tamis.formats.delta

import io.tamis.formats.Members
import io.tamis.wire.{Reason, Reasons}

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
  def refusal: Option[Reason] =
    if (columnMapping != "none") Some(Reasons("DELTA_COLUMN_MAPPING"))
    else if (isOfChanges || writesAheadOfReaders) Some(Reasons("DELTA_READER"))
    else None

  private def isOfChanges: Boolean = Members.get[Boolean](format, "isCDCRead")

  /** Whether files may hold columns in another type than the table, which Delta checks when it
    * reads them.
    */
  private def writesAheadOfReaders: Boolean = {
    val protocol = Members.call(format, "protocol")
    Members.get[Set[String]](protocol, "readerAndWriterFeatureNames").exists(DeltaReader.Unread)
  }
}

private object DeltaReader {

  /** Features of tables whose files Spark's own reader may read differently. */
  private val Unread = Set(
    "typeWidening",
    "typeWidening-preview",
    "variantType",
    "variantType-preview",
    "variantShredding",
    "variantShredding-preview"
  )
}
