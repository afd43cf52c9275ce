package io.tamis.runtime

import io.tamis.bridge.AnyFailure
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf

import scala.util.control.NonFatal

/** Finds out which rows of a scan can be among the first n of an ORDER BY, from samples of its
  * files. They are read when the scan is about to run, in its thread, and once for all plans that
  * contain the scan.
  *
  * It is not a subquery of the plan: with one, Spark would optimize the sample apart from what it
  * plans, and run the query with adaptive execution although it has no exchange.
  *
  * @param keys
  *   over columns of the scan by name, without attribute ids
  * @param samples
  *   plans that return the keys of the n-th row of a sample, and no row if the sample has fewer.
  *   Each one is larger than the one before, and is read only if those before have fewer rows
  * @param text
  *   the condition for people
  * @param name
  *   of the samples, for [[FruitlessSamples]]
  */
final class SampledBoundary(
    session: SparkSession,
    val keys: Seq[Expression],
    val orders: Seq[KeyOrder],
    val samples: Seq[LogicalPlan],
    val text: String,
    name: String
) {

  /** The conf at planning time: samples are read like the scan itself. */
  private val conf = SQLConf.get.clone()

  @volatile private var ran = Vector.empty[SparkPlan]

  /** The plans of the samples that were read so far. */
  def plans: Seq[SparkPlan] = ran

  /** What holds for every row that can be among the first n; None: nothing is known.
    *
    * A sample that fails does not fail the query: the scan reads the same files, and raises what
    * has to be raised. A user who cancels a job cancels the query.
    */
  lazy val condition: Option[Expression] =
    try {
      val last = samples.iterator.flatMap(sample => read(sample)).nextOption()
      if (last.isEmpty) FruitlessSamples.add(name)
      last.map(AtOrBefore.condition(keys, orders, _, samples.head.schema))
    } catch { case NonFatal(e) if !AnyFailure.isCancelled(e) => None }

  private def read(sample: LogicalPlan): Option[InternalRow] = SQLConf.withExistingConf(conf) {
    val plan = session.asInstanceOf[ClassicSession].sessionState.executePlan(sample).executedPlan
    ran :+= plan
    plan.executeCollect().headOption
  }

  private lazy val canonical: Seq[LogicalPlan] = samples.map(_.canonicalized)

  /** Two are equal if they leave the same rows of equal scans: those that read the same samples. */
  override def equals(other: Any): Boolean = other match {
    case boundary: SampledBoundary =>
      (this eq boundary) || orders == boundary.orders && keys == boundary.keys &&
      canonical == boundary.canonical
    case _ => false
  }
  override def hashCode(): Int = (keys, orders).hashCode
}
