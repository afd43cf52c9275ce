package io.tamis.runtime

import io.tamis.bridge.AnyFailure
import io.tamis.planning.FileSelection
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf

import scala.util.control.NonFatal

/** Finds out which rows of a scan its query needs, from samples of its files: those that can be
  * among the first n of an ORDER BY, or decide MIN and MAX. Samples are read when the scan is about
  * to run, in its thread, and once for all plans that contain the scan.
  *
  * It is not a subquery of the plan: with one, Spark would optimize the sample apart from what it
  * plans, and run the query with adaptive execution although it has no exchange.
  *
  * @param samples
  *   plans that return at most one row for `needed`. Each one is larger than the one before, and is
  *   read only if those before have shown nothing
  * @param text
  *   the condition for people
  * @param name
  *   of the samples, for [[FruitlessSamples]]
  * @param whole
  *   files of samples that the scan reads, whatever they show
  * @param adaptive
  *   whether samples may run with adaptive execution
  */
final class SampledBoundary(
    session: SparkSession,
    val needed: NeededRows,
    val samples: Seq[LogicalPlan],
    val text: String,
    name: String,
    val whole: Option[FileSelection] = None,
    adaptive: Boolean = true
) {

  /** The conf at planning time: samples are read like the scan itself. */
  private val conf = {
    val copy = SQLConf.get.clone()
    if (!adaptive) copy.setConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED, false)
    copy
  }

  @volatile private var ran = Vector.empty[SparkPlan]

  /** The plans of the samples that were read so far. */
  def plans: Seq[SparkPlan] = ran

  /** What holds for every row that is needed, except those of `whole`; None: nothing is known.
    *
    * A sample that fails does not fail the query: the scan reads the same files, and raises what
    * has to be raised. A user who cancels a job cancels the query.
    */
  lazy val condition: Option[Expression] =
    try {
      val found = samples.iterator
        .flatMap(sample => read(sample).flatMap(needed.condition(_, sample.schema)))
        .nextOption()
      if (found.isEmpty) FruitlessSamples.add(name)
      found
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
      (this eq boundary) || needed == boundary.needed &&
      canonical == boundary.canonical
    case _ => false
  }
  override def hashCode(): Int = needed.hashCode
}
