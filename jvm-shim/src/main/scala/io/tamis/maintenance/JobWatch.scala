package io.tamis.maintenance

import java.util.Properties

import scala.collection.mutable

import org.apache.spark.scheduler._
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart

/** Watches the jobs of a driver: those of users, and those of maintenance with what they cost.
  *
  * @param userStarted
  *   called when a job or a command of a user starts
  * @param isCurrent
  *   whether this run of maintenance has not ended
  * @param cancel
  *   ends a job
  */
private[maintenance] final class JobWatch(
    userStarted: () => Unit,
    isCurrent: String => Boolean,
    cancel: Int => Unit
) extends SparkListener {
  private val users = mutable.Set.empty[Int]
  private val own = mutable.Set.empty[Int]

  /** Of all jobs of maintenance: tasks that were killed end after their jobs. */
  private val ownStages = mutable.LinkedHashSet.empty[Int]
  private var idleSince = System.nanoTime()
  private var cost = Cost.none

  /** How long no job of a user has run, in nanoseconds; None while one runs.
    *
    * @param active
    *   the jobs that run: some may have started before this listener was registered
    */
  def idleNanos(active: Seq[Int]): Option[Long] = synchronized {
    Option.when(users.isEmpty && active.forall(own)) {
      System.nanoTime() - idleSince
    }
  }

  /** The jobs of maintenance that run. */
  def running: Seq[Int] = synchronized(own.toSeq)

  /** What all jobs of maintenance have cost so far. */
  def total: Cost = synchronized(cost)

  override def onJobStart(job: SparkListenerJobStart): Unit = runOf(job.properties) match {
    case Some(run) =>
      synchronized {
        own += job.jobId
        ownStages ++= job.stageIds
        while (ownStages.size > JobWatch.MostStages) ownStages -= ownStages.head
      }
      // a query of several jobs may start the next one after its run was stopped
      if (!isCurrent(run)) cancel(job.jobId)
    case None =>
      synchronized(users += job.jobId)
      userStarted()
  }

  override def onJobEnd(job: SparkListenerJobEnd): Unit = synchronized {
    own -= job.jobId
    if (users.remove(job.jobId)) idleSince = System.nanoTime()
  }

  /** Commands such as DROP TABLE have no job. */
  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case start: SparkListenerSQLExecutionStart if !start.jobGroupId.exists(JobWatch.isOfRun) =>
      synchronized { idleSince = System.nanoTime() }
      userStarted()
    case _ =>
  }

  /** A task of Python does most of its work in another process, so its run time counts. */
  override def onTaskEnd(task: SparkListenerTaskEnd): Unit = synchronized {
    val metrics = task.taskMetrics
    if (metrics != null && ownStages(task.stageId)) {
      val ran = metrics.executorRunTime * 1000000L
      cost += Cost(math.max(metrics.executorCpuTime, ran), metrics.inputMetrics.bytesRead)
    }
  }

  private def runOf(properties: Properties): Option[String] =
    Option(properties).flatMap(p => Option(p.getProperty(JobWatch.Group))).filter(JobWatch.isOfRun)
}

private[maintenance] object JobWatch {
  private val MostStages = 10000

  /** The local property of the job group, which names the run of a job of maintenance. */
  val Group = "spark.jobGroup.id"

  /** How the ids of runs begin. */
  val Prefix = "tamis-maintenance-"

  def isOfRun(group: String): Boolean = group.startsWith(Prefix)
}

/** What jobs have cost.
  *
  * @param nanos
  *   processor time of the executors; that of tasks in Python includes their waiting
  * @param bytes
  *   that the executors read
  */
private[maintenance] final case class Cost(nanos: Long, bytes: Long) {
  def +(other: Cost): Cost = Cost(nanos + other.nanos, bytes + other.bytes)
  def -(other: Cost): Cost = Cost(nanos - other.nanos, bytes - other.bytes)
}

private[maintenance] object Cost {
  val none: Cost = Cost(0, 0)
}
