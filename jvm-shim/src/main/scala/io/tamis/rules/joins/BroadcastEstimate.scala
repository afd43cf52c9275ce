package io.tamis.rules.joins

import io.tamis.planning.ScanPlanner
import io.tamis.rules.relations.FilteredRelation
import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{
  BROADCAST,
  HintInfo,
  Join,
  LeafNode,
  LogicalPlan,
  Statistics
}
import org.apache.spark.sql.internal.SQLConf

/** Estimates, before scans are built, which sides of joins Spark will broadcast. */
object BroadcastEstimate {

  /** Whether Spark may broadcast the left side, and whether the right one. */
  def sides(join: Join): (Boolean, Boolean) = {
    def hinted(hint: Option[HintInfo]) = hint.flatMap(_.strategy).contains(BROADCAST)
    (
      hinted(join.hint.leftHint) || mayBroadcast(join.left),
      hinted(join.hint.rightHint) || mayBroadcast(join.right)
    )
  }

  /** Whether Spark may consider a side of a join small enough. The estimate is the one that Spark
    * makes once the scans are built; if it estimates rows or knows no size, the side counts as
    * small.
    */
  def mayBroadcast(side: LogicalPlan): Boolean = {
    val conf = SQLConf.get
    conf.autoBroadcastJoinThreshold >= 0 && {
      val built = side.transformDown { case FilteredRelation(scan) =>
        val files = ScanPlanner.survivors(scan.table, scan.conjuncts)
        val bytes = files.fold(scan.table.relation.sizeInBytes)(_.bytes)
        OfSize(scan.relation.output, (bytes * conf.fileCompressionFactor).toLong)
      }
      conf.cboEnabled ||
      Try(built.stats.sizeInBytes).toOption.forall(_ <= conf.autoBroadcastJoinThreshold)
    }
  }

  private final case class OfSize(output: Seq[Attribute], bytes: Long) extends LeafNode {
    override def computeStats(): Statistics = Statistics(bytes)
  }
}
