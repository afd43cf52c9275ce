package io.tamis.runtime

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{
  BaseSubqueryExec,
  ReusedSubqueryExec,
  SparkPlan,
  SubqueryExec,
  UnaryExecNode
}

/** A subquery that the first thread that needs its rows runs itself.
  *
  * Spark runs subqueries in a pool of 16 threads (`spark.sql.subquery.maxThreadThreshold`). A
  * subquery that tamis adds to a scan may be needed by a subquery of the query. If 16 of these run
  * at the same time, each in a thread of the pool, and wait for another one that has to run there,
  * the query never ends (seen on 4.1.3). In its own thread, a scan waits for nothing but jobs.
  */
final case class OwnThreadSubqueryExec(name: String, child: SparkPlan)
    extends BaseSubqueryExec
    with UnaryExecNode {

  /** Another thread that needs them waits for the one that runs the subquery. */
  @transient private lazy val rows: Array[InternalRow] = child.executeCollect()

  override def executeCollect(): Array[InternalRow] = rows

  override protected def doExecute(): RDD[InternalRow] =
    throw new UnsupportedOperationException(s"$nodeName has rows, but no RDD")

  override def nodeName: String = "Subquery"
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan =
    copy(child = newChild)
}

object OwnThreadSubqueryExec {
  private val Made = TreeNodeTag[OwnThreadSubqueryExec]("tamis.ownThread")

  /** The same subquery. If Spark has found that it can be reused, its scans share the rows. */
  def of(planned: BaseSubqueryExec): BaseSubqueryExec = planned match {
    case ReusedSubqueryExec(child) => of(child)
    case subquery: SubqueryExec    =>
      Made.synchronized {
        subquery.getTagValue(Made).getOrElse {
          val own = OwnThreadSubqueryExec(subquery.name, subquery.child)
          subquery.setTagValue(Made, own)
          own
        }
      }
    case other => other
  }
}
