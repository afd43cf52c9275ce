package io.tamis.formats.delta

import io.tamis.formats.{FormatFailure, Members}
import io.tamis.planning.{Decision, ScanPlanner, SwappedFiles}
import io.tamis.rules.filters.PlainConjuncts
import io.tamis.rules.relations.{Eligibility, FileRelation}
import io.tamis.wire.Pushdown

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  Expression,
  ExpressionSet,
  GetStructField,
  MetadataAttribute
}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.types.StructType

/** A scan of Delta whose files Delta has not chosen yet. */
private[tamis] final class DeltaScanChoice private (
    val logical: LogicalRelation,
    relation: HadoopFsRelation
) {
  val index: FileIndex = relation.location
  private val partitionColumns = relation.partitionSchema.fieldNames.toSet

  /** Whether Delta stops listing files for a LIMIT over these filters. */
  def isLimitable(filters: Seq[Expression]): Boolean = filters.forall(isOfPartitions)

  private def isOfPartitions(filter: Expression): Boolean =
    filter.references.forall(a => partitionColumns(a.name))

  /** The file index of the files that can hold a row for which the filters are true; None: Delta
    * had better choose them.
    *
    * The result is Delta's own kind of scan, over Delta's own entries of the snapshot that Delta
    * reads in this query. Only the choice among all entries is made here. A file that is left out
    * has no row for which all filters are true, by its statistics or partition values: so the query
    * returns the same rows.
    */
  def chosen(delta: DeltaPlanning, filters: Seq[Expression]): Option[FileIndex] = {
    val snapshot = delta.snapshot(index)
    // the same filters that Delta takes into account
    val (usable, unused) = filters.partition(isUsable)
    if (
      !filters.forall(_.deterministic) || usable.exists(isHard) ||
      filters.nonEmpty && hasGeneratedColumns(snapshot)
    ) None
    else
      SnapshotFiles
        .of(snapshot, isWhole = usable.isEmpty)(delta.wholeScan(snapshot, logical))
        .flatMap { files =>
          if (filters.isEmpty) Some(files.scan)
          else
            FormatFailure.kept(Option.empty[AnyRef])(
              decided(files, snapshot, usable).map(scanOf(files, _, usable, unused))
            )
        }
        .map(delta.indexOf(_, index))
  }

  /** Delta evaluates no others before the query runs. */
  private def isUsable(filter: Expression): Boolean =
    PlainConjuncts.isPlain(filter) && !filter.exists {
      case MetadataAttribute(_) => true
      case _                    => false
    }

  /** Whether Delta may know more than tamis: of the fields of structs, the log counts NULLs in
    * different ways, which tamis does not trust.
    */
  private def isHard(filter: Expression): Boolean = filter.exists {
    case _: GetStructField => true
    case a: Attribute      => a.dataType.isInstanceOf[StructType]
    case _                 => false
  }

  /** Delta derives filters over partition columns that are generated from others. */
  private def hasGeneratedColumns(snapshot: AnyRef): Boolean = {
    val schema = Members.get[StructType](snapshot, "schema")
    schema.exists(_.metadata.contains(DeltaScanChoice.Generated))
  }

  /** The files that are kept, in the order of the listing; None if a filter is not decided at least
    * as well as Delta would: tamis understands only a part of it, or has no answer.
    */
  private def decided(
      files: SnapshotFiles,
      snapshot: AnyRef,
      usable: Seq[Expression]
  ): Option[Seq[AnyRef]] = {
    val listed = files.listed(relation)
    if (usable.isEmpty) Some(listed.addFiles)
    else {
      val recorded = new DeltaListing(relation).recorded(listed.listing, snapshot)
      val session = relation.sparkSession
      val over = relation.copy(location = recorded)(session)
      val decision =
        ScanPlanner.decide(SwappedFiles(session, over, logical.catalogTable), usable)
      Option.when(isKnown(decision)) {
        val kept = Seq.newBuilder[AnyRef]
        decision.kept.foreach(i => kept += listed.addFiles(i))
        kept.result()
      }
    }
  }

  private def isKnown(decision: Decision): Boolean =
    decision.fallbackReason.isEmpty &&
      decision.conjuncts.forall(_.pushdown != Pushdown.Unsupported)

  /** Delta's scan of some of the files. If Spark asks for the files of other filters than these,
    * Delta chooses again.
    */
  private def scanOf(
      files: SnapshotFiles,
      kept: Seq[AnyRef],
      usable: Seq[Expression],
      unused: Seq[Expression]
  ): AnyRef = {
    val whole = files.scan
    def size(of: Seq[AnyRef]) = {
      val bytes = of.iterator.map(Members.get[Long](_, "size")).sum
      Members.make(
        Members.call(whole, "total").getClass,
        Some(bytes),
        None,
        Some(of.size.toLong),
        None
      )
    }
    val (ofPartitions, ofData) = usable.partition(isOfPartitions)
    val ofKept = size(kept)
    Members.make(
      whole.getClass,
      Members.call(whole, "version"),
      kept,
      size(files.addFiles),
      ofKept,
      ofKept,
      Members.call(whole, "scannedSnapshot"),
      ExpressionSet(ofPartitions),
      ExpressionSet(ofData),
      ExpressionSet(Nil),
      Set.empty[Expression],
      ExpressionSet(unused),
      Long.box(0),
      Members.call(whole, "dataSkippingType")
    )
  }
}

private[tamis] object DeltaScanChoice {
  private val Index = "org.apache.spark.sql.delta.files.TahoeLogFileIndex"
  private val Generated = "delta.generationExpression"

  /** Only exactly these classes: others choose files in ways that are not known here. */
  def unapply(plan: LogicalPlan): Option[DeltaScanChoice] = plan match {
    case FileRelation(logical, relation)
        if !logical.isStreaming && relation.location.getClass.getName == Index &&
          DeltaFiles.isOfDelta(relation) =>
      FormatFailure.kept(Option.empty[DeltaScanChoice])(
        Option.when(
          Members.get[Seq[Expression]](relation.location, "partitionFilters").isEmpty &&
            DeltaFeatures.unknown(relation).isEmpty && Eligibility.isReadAlike(relation)
        )(new DeltaScanChoice(logical, relation))
      )
    case _ => None
  }
}
