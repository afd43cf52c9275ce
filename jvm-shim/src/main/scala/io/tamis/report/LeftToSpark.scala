package io.tamis.report

import io.tamis.bridge.AnyFailure
import io.tamis.conf.TamisConf
import io.tamis.formats.delta.DeltaFiles
import io.tamis.formats.iceberg.IcebergRelation
import io.tamis.remote.{RemoteScan, RemoteTable}
import io.tamis.rules.filters.AddImpliedFilters
import io.tamis.rules.relations.{Eligibility, FileRelation, SwapFileIndex, UseTamisTables}
import io.tamis.scan.TamisTable
import io.tamis.wire.{Json, Reason, Reasons}
import com.fasterxml.jackson.databind.node.ObjectNode
import scala.util.{Success, Try}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2Relation,
  DataSourceV2ScanRelation,
  FileTable
}
import org.apache.spark.sql.internal.SQLConf

/** Reports the relations of a plan whose files tamis did not choose, and why. */
object LeftToSpark {

  /** {"table", "reason", "reasons": [{"code", "text", "fix"}]} for each of them; "reason" joins all
    * reasons into one sentence.
    */
  def of(execution: QueryExecution): Seq[ObjectNode] = {
    val plan = execution.optimizedPlan
    val filters = collected(plan) { case f @ Filter(_, _: LogicalRelation) => f }
    val others = collected(plan) {
      case relation: LogicalRelation if !isSwapped(relation) =>
        val name = relation.catalogTable.map(_.identifier.unquotedString)
        val condition = filters.find(_.child eq relation).map(_.condition)
        name.getOrElse(nameOf(relation)) -> reasons(execution, relation, condition)
      case scan: DataSourceV2ScanRelation if !scan.relation.table.isInstanceOf[TamisTable] =>
        scan.relation.table.name() -> ofSource(plan, scan)
    }
    others.filter(_._2.nonEmpty).map { case (table, why) =>
      Json.obj(
        "table" -> table,
        "reason" -> why.map(_.text).mkString(", and "),
        "reasons" -> why
      )
    }
  }

  private def reasons(
      execution: QueryExecution,
      relation: LogicalRelation,
      condition: Option[Expression]
  ): Seq[Reason] = {
    val isOfFiles = relation.relation.isInstanceOf[HadoopFsRelation]
    val off = TamisConf.offSwitch(SQLConf.get).filter(_ => isOfFiles)
    if (off.nonEmpty) off.map(switchedOff).toSeq
    else if (isOfFiles && !isLoaded(execution)) Seq(Reasons("EXTENSION_NOT_LOADED"))
    else
      (unchosen(relation), Eligibility.refusal(relation), Eligibility.swapRefusal(relation)) match {
        case (Some(unchosen), _, _)       => withRanges(execution.optimizedPlan, relation, unchosen)
        case (_, None, _)                 => Nil
        case (_, Some(_), Some(noneOfIt)) => withRanges(execution.optimizedPlan, relation, noneOfIt)
        case (_, Some(noTable), None)     =>
          noTable +: SwapFileIndex.refusal(relation, condition).toSeq
      }
  }

  /** Why tamis does not choose the files of a relation, and whether it adds ranges to its filters.
    */
  private def withRanges(plan: LogicalPlan, relation: LogicalPlan, why: Reason): Seq[Reason] =
    why +: Option
      .when(AddImpliedFilters.ranges(plan, relation))(Reasons("ONLY_IMPLIED_RANGES"))
      .toSeq

  /** Why the files were not known when the rules of tamis ran. */
  private def unchosen(relation: LogicalRelation): Option[Reason] = relation match {
    case FileRelation(_, files) => DeltaFiles.unprepared(files)
    case _                      => None
  }

  private def switchedOff(by: TamisConf.OffSwitch): Reason =
    Reasons("TAMIS_IS_OFF", "key" -> by.key, "value" -> by.value, "on" -> by.on)

  /** Whether the session's optimizer has the rules of tamis (checked on 4.1). */
  private def isLoaded(execution: QueryExecution): Boolean =
    try
      execution.sparkSession.sessionState.optimizer.preCBORules
        .exists(_.isInstanceOf[UseTamisTables])
    // if unknown, do not report that they are missing
    catch { case AnyFailure(_) => true }

  private def ofSource(plan: LogicalPlan, scan: DataSourceV2ScanRelation): Seq[Reason] =
    scan.scan match {
      case remote: RemoteScan =>
        val (sent, filters) = remote.sentFilters
        Seq(Reasons("REMOTE_TABLE", "sent" -> sent.toString, "filters" -> filters.toString))
      case _ if scan.relation.table.isInstanceOf[RemoteTable] => Seq(Reasons("REMOTE_FILES"))
      case _ if IcebergRelation.isOne(scan.relation.table)    =>
        withRanges(plan, scan.relation, ofIceberg(scan.relation))
      case _ =>
        val source = "source" -> scan.relation.table.getClass.getSimpleName
        val reason = scan.relation.table match {
          case _: FileTable => Reasons("FILE_SOURCE_V2", source)
          case _            => Reasons("OTHER_SOURCE", source)
        }
        withRanges(plan, scan.relation, reason)
    }

  private def ofIceberg(relation: DataSourceV2Relation): Reason =
    Try(IcebergRelation.taken(SparkSession.active, relation, Nil)) match {
      case Success(Left(reason)) => reason
      case _                     => Reasons("OTHER_SOURCE", "source" -> "SparkTable")
    }

  private def nameOf(relation: LogicalRelation): String = relation.relation match {
    case files: HadoopFsRelation =>
      s"$files " + files.location.rootPaths.headOption.map(_.toString).getOrElse("")
    case _ => relation.simpleString(1)
  }

  private def isSwapped(relation: LogicalRelation): Boolean = relation match {
    case FileRelation(_, SwapFileIndex(_)) => true
    case _                                 => false
  }

  private def collected[A](plan: LogicalPlan)(pick: PartialFunction[LogicalPlan, A]): Seq[A] =
    plan.collectWithSubqueries(pick)
}
