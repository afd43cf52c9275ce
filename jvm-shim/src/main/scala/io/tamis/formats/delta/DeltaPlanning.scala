package io.tamis.formats.delta

import io.tamis.formats.{FormatFailure, Members}
import java.lang.reflect.InvocationTargetException

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{
  LogicalPlan,
  Subquery,
  SupportsSubquery,
  V2WriteCommand
}
import org.apache.spark.sql.execution.datasources.{FileIndex, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf

/** Delta's rule that chooses the files of scans (PrepareDeltaScan), in the hands of tamis.
  *
  * One instance serves one query: it fixes the snapshot of each table when it is first asked for,
  * so that all scans of a query read the same version, also those that Delta prepares.
  *
  * Failures of Delta, such as a schema that has changed, are raised as Delta raises them.
  */
private[tamis] final class DeltaPlanning private (rule: AnyRef) {
  import DeltaPlanning._

  /** The plan, with the aggregates that Delta answers from metadata (COUNT, MIN, MAX). */
  def withMetadataAnswers(plan: LogicalPlan): LogicalPlan =
    if (isOn(MetadataQuery)) called("optimizeQueryWithMetadata", plan) else plan

  /** The snapshot that this query reads. */
  def snapshot(index: FileIndex): AnyRef = called("getDeltaScanGenerator", index)

  /** Delta's scan of all files of a snapshot. */
  def wholeScan(snapshot: AnyRef, relation: LogicalRelation): AnyRef =
    called("filesForScan", snapshot, None, Nil, relation)

  /** The file index of these files. */
  def indexOf(scan: AnyRef, index: FileIndex): FileIndex = called("getPreparedIndex", scan, index)

  /** The plan, in which Delta has chosen the files of the scans that are left. */
  def prepared(plan: LogicalPlan): LogicalPlan = called("prepareDeltaScan", plan)

  private def called[A](name: String, arguments: AnyRef*): A =
    try Members.get[A](rule, name, arguments: _*)
    catch { case e: InvocationTargetException => throw e.getCause }
}

private[tamis] object DeltaPlanning {
  private val Rule = "org.apache.spark.sql.delta.stats.PrepareDeltaScan"
  private val Transaction = "org.apache.spark.sql.delta.OptimisticTransaction"
  private val Skipping = "spark.databricks.delta.stats.skipping"
  private val MetadataQuery = "spark.databricks.delta.optimizeMetadataQuery.enabled"
  private val Parameters = Seq(
    "optimizeQueryWithMetadata" -> 1,
    "getDeltaScanGenerator" -> 1,
    "filesForScan" -> 4,
    "getPreparedIndex" -> 2,
    "prepareDeltaScan" -> 1
  )

  /** None if Delta's rule does not choose files of this plan before the rules of tamis, or chooses
    * them for a transaction:
    *
    *   - a subquery, whose files are chosen with those of the query, and a command with subqueries;
    *   - a write that is planned again within its transaction;
    *   - a query within a transaction, which remembers what the query reads: by it, it finds
    *     conflicts with other commits.
    *
    * Same answer as the rule (seen in Delta 4.4.0).
    */
  def of(session: SparkSession, plan: LogicalPlan, index: FileIndex): Option[DeltaPlanning] =
    FormatFailure.kept(Option.empty[DeltaPlanning]) {
      val isPlanned = plan match {
        case _: Subquery | _: SupportsSubquery | _: V2WriteCommand => false
        case _ => isOn(Skipping) && !DeltaFiles.isListedAfterTamis(session)
      }
      if (!isPlanned) None
      else {
        val loader = index.getClass.getClassLoader
        val rule = Class.forName(Rule, true, loader)
        val isKnown = Parameters.forall { case (name, n) => Members.has(rule, name, n) }
        val transaction =
          Members.get[Option[AnyRef]](Members.singleton(loader, Transaction), "getActive")
        Option.when(isKnown && transaction.isEmpty)(new DeltaPlanning(Members.make(rule, session)))
      }
    }

  private def isOn(key: String): Boolean =
    SQLConf.get.getConfString(key, "true").trim.toBoolean
}
