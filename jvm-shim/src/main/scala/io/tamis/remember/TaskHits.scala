package io.tamis.remember

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.TaskContext

/** How many rows of the file, or of the row group, that a task reads have passed the filter over
  * the scan.
  *
  * The readers of the scan and the node above the filter share one object per task. A task runs
  * them in turns: a reader is asked for its next rows only after all rows before have gone through
  * the filter.
  */
final class TaskHits private[remember] () {
  private var passed = 0L
  private var isObserved = false
  private var isMixed = false
  private var open = 0

  /** Called by the node above the filter for every row that passes. */
  def note(): Unit = passed += 1

  /** Called by that node before its first row. Without it, nothing counts as read without a hit: a
    * later rule may have removed the node from the plan.
    */
  private[remember] def observe(): TaskHits = { isObserved = true; this }

  /** A task may read the same scan twice at a time, such as for RDD.cartesian. Then it is not known
    * from which of the two a row comes, and nothing counts any more.
    */
  private[remember] def readerOpens(): Unit = {
    if (open > 0) isMixed = true
    open += 1
  }
  private[remember] def readerEnds(): Unit = open -= 1

  /** Whether what follows is certain. */
  private[remember] def start(): Boolean = { passed = 0; isObserved && !isMixed }

  /** How many rows have passed since `start`; None: not known. */
  private[remember] def end(): Option[Long] = Option.when(isObserved && !isMixed)(passed)
}

object TaskHits {

  /** By task attempt and learner. */
  private val current = new ConcurrentHashMap[(Long, Long), TaskHits]()

  /** The object of the current task. Found by the ids, so that it does not matter whether the
    * readers and the node are copied together when Spark sends them to an executor.
    */
  private[remember] def of(learner: Long): TaskHits = TaskContext.get() match {
    case null    => new TaskHits // not shared, so that nothing counts
    case context =>
      val key = (context.taskAttemptId(), learner)
      current.computeIfAbsent(
        key,
        _ => {
          context.addTaskCompletionListener[Unit](_ => current.remove(key): Unit)
          new TaskHits
        }
      )
  }
}
