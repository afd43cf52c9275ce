package io.tamis.runtime

import io.tamis.bridge.AnyFailure
import io.tamis.conf.{Mode, TamisConf}
import io.tamis.listing.{ColumnIn, PartitionPredicate}
import io.tamis.planning.{FileRanges, FileSelection, Question}
import io.tamis.scan.TamisTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  AttributeReference,
  Expression,
  In,
  InSet,
  Literal
}
import org.apache.spark.sql.connector.expressions.{Literal => V2Literal}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DoubleType, FloatType, StructType}

/** The files and row groups of a scan that remain once the running query has computed the values of
  * `column IN (values)`, of the conditions that tamis added (`RuntimeFilter`), and of the samples
  * that the scan has read.
  *
  * Spark itself tests partition values, with or without a planner, as in its own scan. For the rest
  * the planner answers a question, as for any filter. If anything fails, nothing is left out.
  */
final class RuntimePruning(
    table: TamisTable,
    kept: FileSelection,
    samples: Option[SampledBoundary] = None
) {
  import RuntimePruning._

  def apply(predicates: Seq[V2Predicate]): FileSelection =
    AnyFailure.warned(
      AnyFailure.keyed("runtime"),
      s"pruning of ${table.name()} at run time failed",
      "Report this error. The scan reads all planned files."
    )(pruned(predicates))(_ => kept)

  private def pruned(predicates: Seq[V2Predicate]): FileSelection = {
    val partitions = table.relation.partitionSchema
    val (awaited, spark) = predicates.partition(!isOfSpark(_))
    val conditions = awaited.flatMap(conditionOf(_)).flatMap(_.predicate) ++ boundary
    val groups = kept.listing.groups.map(_.values)
    val tests = PartitionPredicate.ofRuntime(spark, partitions) +:
      conditions.flatMap(PartitionPredicate.impliedBy(_, partitions)).map(ofValues(_, partitions))
    val ofPartitions = kept.whereGroup(groups.map(g => tests.forall(_(g))))
    if (!isOn) ofPartitions
    else {
      val names = partitions.fieldNames.toSet
      val others = conditions.filterNot(PartitionPredicate.isPartitionOnly(_, partitions)) ++
        spark.flatMap(listed(_, names))
      val left =
        if (others.isEmpty || ofPartitions.count == 0) ofPartitions
        else ofConditions(ofPartitions, others)
      samples.flatMap(_.whole).fold(left)(left.or(kept, _))
    }
  }

  private def isOn: Boolean = {
    val conf = SQLConf.get
    TamisConf.mode(conf) == Mode.Apply && TamisConf.runtimeFiltersEnabled(conf)
  }

  /** What the samples of the scan show. They are read here, if a file may be left out. */
  private def boundary: Option[Expression] =
    samples
      .filter(_ => isOn && kept.count > 1)
      .flatMap(_.condition)
      .filter(_.references.nonEmpty)

  /** A test of the values of one partition, which a partition passes if the evaluation raises. */
  private def ofValues(condition: Expression, partitions: StructType): InternalRow => Boolean = {
    val test = PartitionPredicate.of(Seq(hashed(condition)), partitions)
    row =>
      try test(row)
      catch { case AnyFailure(_) => true }
  }

  /** Lists of values as sets, because every partition is tested. Spark compares -0.0 and 0.0 as
    * equal in a list only.
    */
  private def hashed(condition: Expression): Expression = condition.transform {
    case In(key, values)
        if values.forall(_.isInstanceOf[Literal]) &&
          key.dataType != FloatType && key.dataType != DoubleType =>
      InSet(key, values.map(_.eval()).toSet)
  }

  /** The conditions hold for every row that affects the result, so the row groups in which none can
    * hold are left out as well.
    */
  private def ofConditions(candidates: FileSelection, conditions: Seq[Expression]): FileSelection =
    new Question(
      table,
      candidates.listing,
      conditions,
      among = Some(candidates),
      wholeFiles = table.wholeFiles
    )
      .ask()
      .fold(
        _ => candidates,
        answer =>
          candidates.and(
            FileSelection.of(
              candidates.listing,
              answer.kept,
              answer.rowGroups.fold(FileRanges.none)(FileRanges.of)
            )
          )
      )

  private def listed(predicate: V2Predicate, partitions: Set[String]): Option[Expression] =
    predicate match {
      case ColumnIn(name, values) if !partitions(name) && table.schema.fieldNames.contains(name) =>
        val field = table.schema(name)
        val column = AttributeReference(name, field.dataType, field.nullable, field.metadata)()
        Some(RuntimeValues.in(column, values)).filter(_.references.nonEmpty)
      case _ => None
    }
}

object RuntimePruning {

  /** Whether Spark itself has made the predicate: those of tamis mean nothing to others. */
  def isOfSpark(predicate: V2Predicate): Boolean = conditionOf(predicate).isEmpty

  private def conditionOf(predicate: V2Predicate): Option[RuntimeFilter] =
    predicate.children.toSeq.collectFirst { case l: V2Literal[_] => l.value: Any }.collect {
      case awaited: RuntimeFilter => awaited
    }
}
