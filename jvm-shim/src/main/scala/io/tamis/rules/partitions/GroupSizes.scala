package io.tamis.rules.partitions

import io.tamis.conf.TamisConf
import io.tamis.planning.ScanPlanner
import io.tamis.rules.relations.FilteredRelation
import io.tamis.scan.PartitionGroups
import io.tamis.wire.{Reason, Reasons}
import org.apache.spark.sql.SparkSession

/** The bytes of the files that are read for each group of rows.
  *
  * @param bytes
  *   by the values of the grouping columns
  */
final case class GroupSizes(bytes: Map[Seq[Any], Long]) {

  /** The sizes of the groups of two scans that are joined. */
  def and(other: GroupSizes): GroupSizes =
    GroupSizes(other.bytes.foldLeft(bytes) { case (sum, (key, size)) =>
      sum.updated(key, sum.getOrElse(key, 0L) + size)
    })

  /** Why one task for each group would take longer than an exchange; None: it would not.
    *
    * With T bytes and n cores, no plan finishes before a task of T / n bytes would. One task for
    * each group finishes within that time and the time of the largest group (list scheduling). If
    * no group is larger than 2 T / n, grouping takes at most three times the time of reading T in
    * parallel; an exchange writes, sends and reads the same rows once more, and sorts them. Groups
    * as small as the cost of opening a file are never too large. Small groups cost more in
    * scheduling than an exchange costs.
    */
  def refusal(limits: GroupLimits): Option[Reason] = {
    val (total, largest) = (bytes.values.sum, bytes.values.maxOption.getOrElse(0L))
    val (share, least) = (math.max(total / limits.tasks, limits.leastShare), limits.leastAverage)
    val average = total / math.max(bytes.size, 1)
    if (average < least)
      Some(
        Reasons(
          "PARTITION_GROUPS_SMALL",
          "groups" -> bytes.size.toString,
          "average" -> average.toString,
          "least" -> least.toString
        )
      )
    else
      Option.when(largest > 2 * share)(
        Reasons(
          "PARTITION_GROUPS_UNEVEN",
          "groups" -> bytes.size.toString,
          "largest" -> largest.toString,
          "most" -> (2 * share).toString
        )
      )
  }
}

/** @param tasks
  *   how many tasks run at the same time
  * @param leastShare
  *   bytes that a task may always have
  * @param leastAverage
  *   bytes that groups must have on average
  */
final case class GroupLimits(tasks: Int, leastShare: Long, leastAverage: Long)

object GroupLimits {
  def apply(session: SparkSession): GroupLimits = {
    val conf = session.sessionState.conf
    GroupLimits(
      session.sparkContext.defaultParallelism,
      conf.filesOpenCostInBytes,
      TamisConf.partitionGroupsMinSizeBytes(conf)
    )
  }
}

object GroupSizes {

  /** None if the planner does not know the files of the scan. */
  def of(scan: FilteredRelation, columns: Seq[String]): Option[GroupSizes] =
    ScanPlanner.survivors(scan.table, scan.conjuncts).map { kept =>
      val listing = kept.listing
      val ofDirectory = new Array[Long](listing.groups.size)
      kept.foreach(i => ofDirectory(listing.groupOf(i)) += listing.files.bytes(i))
      val sizes = PartitionGroups.of(kept, columns).toSeq.flatMap { groups =>
        groups.ofDirectory.toSeq.map { case (d, group) => groups.values(group) -> ofDirectory(d) }
      }
      GroupSizes(sizes.groupMapReduce(_._1)(_._2)(_ + _))
    }
}
