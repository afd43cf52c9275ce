package io.tamis.rules.commands

import io.tamis.rules.joins.KeyLineage
import io.tamis.runtime.RuntimeValues
import io.tamis.wire.TypeSets
import java.util.{Collections, WeakHashMap}

import scala.util.control.NonFatal

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.dsl.plans._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{Max, Min}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Project}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{LogicalRDD, SQLExecution}

/** The keys of a plan over a DataFrame that was checkpointed.
  *
  * Delta checkpoints the source of a MERGE before it reads the target, unless all of the source are
  * tables of Delta. From then on the rows of the source are fixed, whatever it was computed from: a
  * query over them has the same answer now and when the command runs its own. If blocks of the
  * checkpoint are lost, that query fails, and Delta starts again from the beginning.
  *
  * @param key
  *   over the columns of the checkpoint. Filters above it are left out: they only drop keys
  */
private[commands] final class CheckpointedKeys private (key: Expression, checkpoint: LogicalRDD) {
  import CheckpointedKeys._

  /** What the executors store of it, in bytes; None if it is not known. */
  def bytes: Option[Long] = {
    val rdd = checkpoint.rdd
    val stored = rdd.sparkContext.getRDDStorageInfo.find(_.id == rdd.id)
    stored.filter(_.isCached).map(info => info.memSize + info.diskSize)
  }

  /** A predicate that is true of every row in which `other` equals one of the keys. None if the
    * keys cannot be computed: the query that needs them raises the error.
    *
    * NULL equals no key.
    */
  def among(other: Expression): Option[Expression] =
    try {
      val known = remembered(checkpoint.rdd, key)(compute())
      def literal(value: Any) = Literal(value, key.dataType)
      Some(known match {
        case Listed(values)         => RuntimeValues.in(other, values)
        case Range(least, greatest) =>
          And(GreaterThanOrEqual(other, literal(least)), LessThanOrEqual(other, literal(greatest)))
      })
    } catch { case NonFatal(_) => None }

  private def compute(): Known = {
    val named = Alias(key, "key")()
    val column = named.toAttribute
    val keys = Project(Seq(named), Filter(IsNotNull(key), checkpoint))
    val distinct = keys.groupBy(column)(column).limit(Literal(RuntimeValues.Most + 1))
    val values = rowsOf(distinct).map(_.get(0, key.dataType))
    if (values.size <= RuntimeValues.Most) Listed(values.toSeq)
    else {
      val ends = Seq(Min(column), Max(column)).map(f => Alias(f.toAggregateExpression(), "end")())
      val row = rowsOf(Aggregate(Nil, ends, keys)).head
      Range(row.get(0, key.dataType), row.get(1, key.dataType))
    }
  }

  private def rowsOf(plan: LogicalPlan): Array[InternalRow] = {
    // the session whose optimizer runs this rule
    val session = SparkSession.active.asInstanceOf[ClassicSession]
    val execution = session.sessionState.executePlan(plan)
    SQLExecution.withNewExecutionId(execution, None) {
      execution.executedPlan.executeCollect().map(_.copy())
    }
  }
}

private[commands] object CheckpointedKeys {

  private sealed trait Known
  private final case class Listed(values: Seq[Any]) extends Known
  private final case class Range(least: Any, greatest: Any) extends Known

  /** The keys that were computed last of each checkpoint: a MERGE reads its target up to three
    * times.
    */
  private val computed =
    Collections.synchronizedMap(new WeakHashMap[RDD[InternalRow], (Expression, Known)])

  private def remembered(of: RDD[InternalRow], key: Expression)(compute: => Known): Known =
    Option(computed.get(of))
      .collect { case (k, known) if k.semanticEquals(key) => known }
      .getOrElse {
        val known = compute
        computed.put(of, key -> known)
        known
      }

  /** None if the key does not come from a checkpoint, or if equal values of its type may differ,
    * such as -0.0 and 0.0.
    */
  def of(key: Expression, plan: LogicalPlan): Option[CheckpointedKeys] = plan match {
    case leaf: LogicalRDD =>
      Option.when(
        !leaf.isStreaming && leaf.rdd.isCheckpointed && KeyLineage.isKey(key) &&
          TypeSets.areIdenticalIfEqual(key.dataType)
      )(new CheckpointedKeys(key, leaf))
    case _ =>
      KeyLineage.step(key, plan) match {
        case Seq(below) if below.added.isEmpty => of(below.key, plan.children(below.child))
        case _                                 => None
      }
  }
}
