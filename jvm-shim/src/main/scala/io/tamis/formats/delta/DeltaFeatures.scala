package io.tamis.formats.delta

import io.tamis.formats.{FormatFailure, Members}
import io.tamis.wire.{Reason, Reasons}

import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/** The features of tables of Delta that readers must know: seen in Delta 4.4.0 for Spark 4.1. */
private[tamis] object DeltaFeatures {

  /** The features with which files, statistics and deletion vectors mean what is assumed here.
    * Features for writers alone change neither (Delta protocol, "Table Features").
    */
  private val Known = Set(
    "catalogManaged", // Delta resolves the version, and names the files of the log
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantShredding",
    "variantShredding-preview",
    "variantType",
    "variantType-preview"
  )

  /** Why tamis does not interpret the files and the log of a relation; None: all of its features
    * are known, or it is not one of Delta.
    */
  def unknown(relation: HadoopFsRelation): Option[Reason] =
    if (!DeltaFiles.isOfDelta(relation)) None
    else
      FormatFailure.kept(Option(refusal("they cannot be read"))) {
        val protocol = Members.call(relation.fileFormat, "protocol")
        val unknown = Members.get[Set[String]](protocol, "readerFeatureNames") -- Known
        Option.when(unknown.nonEmpty)(refusal(unknown.toSeq.sorted.mkString(", ")))
      }

  private def refusal(features: String): Reason =
    Reasons("DELTA_UNKNOWN_FEATURE", "features" -> features)
}
