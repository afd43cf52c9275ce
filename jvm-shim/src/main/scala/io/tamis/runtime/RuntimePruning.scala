package io.tamis.runtime

import io.tamis.bridge.{AnyFailure, Warnings}
import io.tamis.conf.{Mode, TamisConf}
import io.tamis.listing.{ColumnIn, PartitionPredicate}
import io.tamis.planning.{FileSelection, Question}
import io.tamis.scan.TamisTable
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.connector.expressions.{Literal => V2Literal}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.internal.SQLConf

/** The files of a scan that remain once the running query has computed the values of `column IN
  * (values)` and of the conditions that tamis added (`RuntimeFilter`).
  *
  * Spark itself tests partition values. For the rest the planner answers a question, as for any
  * filter. If anything fails, no file is left out.
  */
final class RuntimePruning(table: TamisTable, kept: FileSelection) {

  def apply(predicates: Seq[V2Predicate]): FileSelection =
    try pruned(predicates)
    catch {
      case AnyFailure(e) =>
        Warnings.once(
          s"runtime:${e.getClass.getName}",
          s"pruning of ${table.name()} at run time failed ($e). Report this error. The scan reads all " +
            "planned files.",
          e
        )
        kept
    }

  private def pruned(predicates: Seq[V2Predicate]): FileSelection = {
    val partitions = table.relation.partitionSchema
    val (awaited, spark) = predicates.partition(conditionOf(_).nonEmpty)
    val passes = PartitionPredicate.ofRuntime(spark, partitions)
    val ofPartitions = kept.whereGroup(kept.listing.groups.map(g => passes(g.values)))
    val conf = SQLConf.get
    if (TamisConf.mode(conf) != Mode.Apply) ofPartitions
    else {
      val names = partitions.fieldNames.toSet
      // a cast of a partition column always prunes, as in Spark's own scan
      val conditions =
        (awaited.flatMap(conditionOf(_)).flatMap(_.predicate) ++ spark.flatMap(listed(_, names)))
          .filter(c =>
            TamisConf.runtimeFiltersEnabled(conf) || c.references.forall(a => names(a.name))
          )
      if (conditions.isEmpty || ofPartitions.count == 0) ofPartitions
      else ofConditions(ofPartitions, conditions)
    }
  }

  private def ofConditions(candidates: FileSelection, conditions: Seq[Expression]): FileSelection =
    new Question(table, candidates.listing, conditions, among = Some(candidates), wholeFiles = true)
      .ask()
      .fold(
        _ => candidates,
        answer => candidates.and(FileSelection.of(candidates.listing, answer.kept))
      )

  private def conditionOf(predicate: V2Predicate): Option[RuntimeFilter] =
    predicate.children.toSeq.collectFirst { case l: V2Literal[_] => l.value: Any }.collect {
      case awaited: RuntimeFilter => awaited
    }

  private def listed(predicate: V2Predicate, partitions: Set[String]): Option[Expression] =
    predicate match {
      case ColumnIn(name, values) if !partitions(name) && table.schema.fieldNames.contains(name) =>
        val field = table.schema(name)
        val column = AttributeReference(name, field.dataType, field.nullable, field.metadata)()
        Some(RuntimeValues.in(column, values)).filter(_.references.nonEmpty)
      case _ => None
    }
}
