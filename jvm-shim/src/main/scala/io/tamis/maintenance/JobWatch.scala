package io.tamis.maintenance

import java.util.Properties

import scala.collection.mutable

import org.apache.spark.scheduler._

/** Watches the jobs of a driver: those of users, and those of maintenance with what they cost.
  *
  * @param userStarted
  *   called when a job of a user starts
  */
private[maintenance] final class JobWatch(userStarted: () => Unit) extends SparkListener {
  private val users = mutable.Set.empty[Int]
  private val own = mutable.Set.empty[Int]
  private val ownStages = mutable.Map.empty[Int, Seq[Int]] // by job
  private var idleSince = System.nanoTime()
  private var cost = Cost.none

  /** How long no job of a user has run, in nanoseconds; 0 while one runs. */
  def idleNanos: Long = synchronized(if (users.isEmpty) System.nanoTime() - idleSince else 0)

  /** The jobs of maintenance that run. */
  def running: Seq[Int] = synchronized(own.toSeq)

  /** What all jobs of maintenance have cost so far. */
  def total: Cost = synchronized(cost)

  override def onJobStart(job: SparkListenerJobStart): Unit =
    if (isOwn(job.properties)) synchronized {
      own += job.jobId
      ownStages(job.jobId) = job.stageIds
    }
    else {
      synchronized(users += job.jobId)
      userStarted()
    }

  override def onJobEnd(job: SparkListenerJobEnd): Unit = synchronized {
    own -= job.jobId
    ownStages -= job.jobId
    if (users.remove(job.jobId)) idleSince = System.nanoTime()
  }

  override def onTaskEnd(task: SparkListenerTaskEnd): Unit = synchronized {
    if (task.taskMetrics != null && ownStages.valuesIterator.exists(_.contains(task.stageId)))
      cost += Cost(task.taskMetrics.executorCpuTime, task.taskMetrics.inputMetrics.bytesRead)
  }

  private def isOwn(properties: Properties): Boolean =
    properties != null && properties.getProperty(JobWatch.Property) != null
}

private[maintenance] object JobWatch {

  /** The local property of jobs of maintenance (tamis.maintenance.worker). */
  val Property = "spark.tamis.maintenance"
}

/** What jobs have cost.
  *
  * @param cpuNanos
  *   processor time of the executors
  * @param bytes
  *   that the executors read
  */
private[maintenance] final case class Cost(cpuNanos: Long, bytes: Long) {
  def +(other: Cost): Cost = Cost(cpuNanos + other.cpuNanos, bytes + other.bytes)
  def -(other: Cost): Cost = Cost(cpuNanos - other.cpuNanos, bytes - other.bytes)
}

private[maintenance] object Cost {
  val none: Cost = Cost(0, 0)
}
