package io.tamis.formats.delta

import io.tamis.formats.{FormatFailure, Members}
import io.tamis.planning.{Decision, PlanningMetrics, SwappedFiles}
import io.tamis.rules.relations.FileRelation
import io.tamis.scan.TamisFileIndex
import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}

/** A relation over files that a command of Delta has chosen, in a query that the command runs.
  *
  * Delta chooses them in its transaction, by the conjuncts that its data skipping understands, and
  * remembers them there: these files and conjuncts decide whether a concurrent commit conflicts.
  * What the query reads of them has no part in that. So it may read fewer, as long as its result
  * stays the same.
  *
  * All members of Delta's classes are accessed in this package, by reflection: seen in Delta 4.4.0
  * for Spark 4.1.
  */
final class DeltaBatch private (logical: LogicalRelation, relation: HadoopFsRelation) {
  private val index: FileIndex = relation.location
  private val addFiles: Seq[AnyRef] = Members.get[Seq[AnyRef]](index, "addFiles")
  private val listing = new DeltaListing(relation)

  def size: Int = addFiles.size

  /** The files, for the planner. */
  lazy val files: SwappedFiles = {
    val snapshot = Members.call(index, "snapshot")
    val recorded = listing.recordedIndex(DeltaListing.distinct(addFiles), snapshot, None)
    val session = relation.sparkSession
    SwappedFiles(session, relation.copy(location = recorded)(session), logical.catalogTable)
  }

  /** The same relation, over the files that a decision keeps. It has Delta's own kind of file
    * index, by which Delta's rules find deletion vectors and metadata columns.
    */
  def over(decision: Decision): LogicalRelation = {
    val paths = decision.kept.files.iterator.map(_.getPath).toSet
    val fewer = Members
      .make(
        index.getClass,
        Members.call(index, "spark"),
        Members.call(index, "actionType"),
        addFiles.filter(file => paths(listing.status(file).getPath)),
        Members.call(index, "deltaLog"),
        Members.call(index, "path"),
        Members.call(index, "snapshot"),
        Members.call(index, "partitionFiltersGenerated")
      )
      .asInstanceOf[FileIndex]
    DeltaBatch.confined.put(fewer, new TamisFileIndex(files, decision))
    PlanningMetrics.planned(decision)
    val over = logical.copy(relation = relation.copy(location = fewer)(relation.sparkSession))
    over.copyTagsFrom(logical)
    over
  }
}

object DeltaBatch {
  private val Index = "org.apache.spark.sql.delta.files.TahoeBatchFileIndex"
  private val Snapshot = "org.apache.spark.sql.delta.Snapshot"

  /** The file indexes that were made here, with the decisions about them. */
  private val confined =
    Collections.synchronizedMap(new WeakHashMap[FileIndex, TamisFileIndex])

  /** Only exactly these classes: others list files in ways that are not known here. */
  def unapply(plan: LogicalPlan): Option[DeltaBatch] = plan match {
    case FileRelation(logical, relation)
        if isOne(relation) && !logical.isStreaming && decided(relation).isEmpty =>
      FormatFailure.kept(Option.empty[DeltaBatch])(
        Option.when(
          Members.call(relation.location, "snapshot").getClass.getName == Snapshot &&
            DeltaFeatures.unknown(relation).isEmpty
        )(new DeltaBatch(logical, relation))
      )
    case _ => None
  }

  def isIn(plan: LogicalPlan): Boolean = plan.exists {
    case FileRelation(_, relation) => isOne(relation)
    case _                         => false
  }

  private def isOne(relation: HadoopFsRelation): Boolean =
    relation.location.getClass.getName == Index

  /** The decision about the files of a relation that was made here. */
  def decided(relation: HadoopFsRelation): Option[TamisFileIndex] =
    Option(confined.get(relation.location))
}
