package io.tamis.formats.delta

import io.tamis.bridge.AnyFailure
import io.tamis.formats.{FormatFailure, Members}
import io.tamis.planning.{Decision, ScanPlanner, SwappedFiles}
import io.tamis.rules.filters.PlainConjuncts
import io.tamis.rules.relations.{Eligibility, FileRelation}
import io.tamis.wire.Pushdown

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{Expression, MetadataAttribute}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}

/** A scan of Delta whose files Delta has not chosen yet. */
private[tamis] final class DeltaScanChoice private (
    val logical: LogicalRelation,
    relation: HadoopFsRelation
) {
  import DeltaScanChoice.Skipped

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
    val asked = FormatFailure.kept(Option.empty[(Skipped, SnapshotFiles.Version)]) {
      skippedBy(filters, snapshot).map { skipped =>
        val count = Members.get[Option[Long]](snapshot, "numOfFilesIfKnown")
        skipped -> SnapshotFiles.Version(DeltaListing.snapshotOf(snapshot, relation), count)
      }
    }
    for {
      (skipped, version) <- asked
      files <- listed(version, isWhole = skipped.usable.isEmpty)(delta.wholeScan(snapshot, logical))
      scan <- FormatFailure.kept(Option.empty[AnyRef])(scanOf(files, snapshot, skipped))
    } yield delta.indexOf(scan, index)
  }

  /** None also if Delta cannot list all files, such as those in a log file that is gone since: it
    * may need less of the log for a query, or else raises the error.
    */
  private def listed(version: SnapshotFiles.Version, isWhole: Boolean)(
      list: => AnyRef
  ): Option[SnapshotFiles] =
    try SnapshotFiles.of(version, isWhole)(list)
    catch { case NonFatal(e) if !AnyFailure.isCancelled(e) => None }

  /** None if Delta may leave out files that tamis keeps. */
  private def skippedBy(filters: Seq[Expression], snapshot: AnyRef): Option[Skipped] = {
    val (usable, unused) = filters.partition(isUsable)
    val ofData = usable.filterNot(isOfPartitions)
    val skipping = new DeltaSkipping(relation.sparkSession, snapshot)
    val byDelta = ofData.flatMap(skipping.of)
    val isClear = filters.forall(_.deterministic) &&
      !(filters.nonEmpty && skipping.derivesFilters) &&
      !(byDelta.size < ofData.size && skipping.evaluatesMinima) &&
      !byDelta.exists(_.mayKnowMore)
    Option.when(isClear)(Skipped(usable, unused, byDelta))
  }

  private def isUsable(filter: Expression): Boolean =
    PlainConjuncts.isPlain(filter) && !filter.exists {
      case MetadataAttribute(_) => true
      case _                    => false
    }

  /** Delta's scan of the files that are kept, in the order of the listing; None if a filter is not
    * decided at least as well as Delta would.
    */
  private def scanOf(
      files: SnapshotFiles,
      snapshot: AnyRef,
      skipped: Skipped
  ): Option[AnyRef] =
    if (skipped.usable.isEmpty && skipped.unused.isEmpty) Some(files.scan(snapshot))
    else
      kept(files, snapshot, skipped).map { kept =>
        val (ofPartitions, ofData) = skipped.usable.partition(isOfPartitions)
        files.scan(snapshot, kept, ofPartitions, ofData, skipped.unused)
      }

  private def kept(
      files: SnapshotFiles,
      snapshot: AnyRef,
      skipped: Skipped
  ): Option[Seq[AnyRef]] =
    if (skipped.usable.isEmpty) Some(files.addFiles)
    else {
      val listed = files.listed(relation)
      val recorded = new DeltaListing(relation).recorded(listed.listing, snapshot)
      val session = relation.sparkSession
      val over = relation.copy(location = recorded)(session)
      val decision =
        ScanPlanner.decide(SwappedFiles(session, over, logical.catalogTable), skipped.usable)
      Option.when(isAsGood(decision, skipped)) {
        val kept = Seq.newBuilder[AnyRef]
        decision.kept.foreach(i => kept += listed.addFiles(i))
        kept.result()
      }
    }

  /** Whether no filter keeps a file that Delta leaves out by it: Delta evaluates filters of
    * partition columns on every file, as Spark does, and all others as tamis does, or not at all.
    */
  private def isAsGood(decision: Decision, skipped: Skipped): Boolean =
    decision.fallbackReason.isEmpty && decision.conjuncts.forall { conjunct =>
      if (isOfPartitions(conjunct.expression)) conjunct.isExact
      else !skipped.isByDelta(conjunct.expression) || conjunct.pushdown != Pushdown.Unsupported
    }
}

private[tamis] object DeltaScanChoice {

  /** The filters, as Delta sees them.
    *
    * @param usable
    *   Delta evaluates no others before the query runs
    * @param byDelta
    *   those by which Delta leaves out files, besides those of partition columns
    */
  private final case class Skipped(
      usable: Seq[Expression],
      unused: Seq[Expression],
      byDelta: Seq[Skipping]
  ) {
    def isByDelta(filter: Expression): Boolean = byDelta.exists(_.filter eq filter)
  }

  private val Index = "org.apache.spark.sql.delta.files.TahoeLogFileIndex"

  /** Only exactly these classes: others choose files in ways that are not known here. Not time
    * travel: Delta reads the log again for each such query, which takes longer than its choice.
    */
  def unapply(plan: LogicalPlan): Option[DeltaScanChoice] = plan match {
    case FileRelation(logical, relation)
        if !logical.isStreaming && relation.location.getClass.getName == Index &&
          DeltaFiles.isOfDelta(relation) =>
      FormatFailure.kept(Option.empty[DeltaScanChoice])(
        Option.when(
          Members.get[Seq[Expression]](relation.location, "partitionFilters").isEmpty &&
            !Members.get[Boolean](relation.location, "isTimeTravelQuery") &&
            DeltaFeatures.unknown(relation).isEmpty && Eligibility.isReadAlike(relation)
        )(new DeltaScanChoice(logical, relation))
      )
    case _ => None
  }
}
