package io.tamis.remember

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.TaskContext

/** How many rows of the file, or of the row group, that a task reads have passed the filter over
  * the scan, and which values they have.
  *
  * The readers of the scan and the node above the filter share one object per task. A task runs
  * them in turns: a reader is asked for its next rows only after all rows before have gone through
  * the filter.
  *
  * @param columns
  *   the number of columns whose values are noted
  */
final class TaskHits private[remember] (columns: Int) {
  private var passed = 0L
  private val least, greatest = new Array[Long](columns)
  private var isObserved = false
  private var isMixed = false
  private var open = 0

  /** Called by the node above the filter for every row that passes. Returns whether the values of
    * the row count. Beyond some rows, bounds rarely say much, and they would cost time.
    */
  def note(): Boolean = {
    passed += 1
    isAmongFew
  }

  private def isAmongFew: Boolean = passed <= TaskHits.MostValues

  /** Called by that node for each value, other than NULL, of a row whose values count. */
  def saw(column: Int, value: Long): Unit = {
    if (value < least(column)) least(column) = value
    if (value > greatest(column)) greatest(column) = value
  }

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
  private[remember] def start(): Boolean = {
    passed = 0
    java.util.Arrays.fill(least, Long.MaxValue)
    java.util.Arrays.fill(greatest, Long.MinValue)
    isObserved && !isMixed
  }

  /** How many rows have passed since `start`; None: not known. */
  private[remember] def end(): Option[Long] = Option.when(isObserved && !isMixed)(passed)

  /** The values of these rows; None: not known of all of them. */
  private[remember] def values: Option[ValueRanges] =
    Option.when(columns > 0 && isAmongFew)(new ValueRanges(least.clone(), greatest.clone()))
}

object TaskHits {

  /** The most rows of a file, or of a row group, whose values are noted. */
  private[remember] val MostValues = 1024

  /** By task attempt and learner. */
  private val current = new ConcurrentHashMap[(Long, Long), TaskHits]()

  /** The object of the current task. Found by the ids, so that it does not matter whether the
    * readers and the node are copied together when Spark sends them to an executor.
    */
  private[remember] def of(learner: Long, columns: Int): TaskHits = TaskContext.get() match {
    case null    => new TaskHits(columns) // not shared, so that nothing counts
    case context =>
      val key = (context.taskAttemptId(), learner)
      current.computeIfAbsent(
        key,
        _ => {
          context.addTaskCompletionListener[Unit](_ => current.remove(key): Unit)
          new TaskHits(columns)
        }
      )
  }
}
