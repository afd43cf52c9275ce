package io.tamis.remember

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.TaskContext

/** How many rows of the file, or of the row group, that a task reads have passed the filter over
  * the scan, and which values they have.
  *
  * The node above the filter writes into the arrays for every row that passes. In generated code,
  * it does so in place and without a condition: until the JVM has compiled that code, which takes a
  * good part of a short query, calls and conditions would cost more than the rest.
  *
  * The readers of the scan and the node above the filter share one object per task. A task runs
  * them in turns: a reader is asked for its next rows only after all rows before have gone through
  * the filter.
  *
  * @param columns
  *   the number of columns whose values are noted
  */
final class TaskHits private[remember] (columns: Int) {

  /** One element: the number of rows that have passed. */
  val passed: Array[Long] = new Array[Long](1)

  /** By column: the values of the rows that have passed last, each at the place of its row. */
  val values: Array[Array[Long]] = Array.fill(columns)(new Array[Long](TaskHits.MostValues))

  /** By column and place: whether the value is NULL. */
  val nulls: Array[Array[Boolean]] = Array.fill(columns)(new Array[Boolean](TaskHits.MostValues))

  /** Notes a row that passes: what the node does where no code is generated. */
  private[remember] def note(isNull: Int => Boolean, value: Int => Long): Unit = {
    val place = (passed(0) & TaskHits.LastPlace).toInt
    (0 until columns).foreach { column =>
      nulls(column)(place) = isNull(column)
      if (!isNull(column)) values(column)(place) = value(column)
    }
    passed(0) += 1
  }

  private var isObserved = false
  private var isMixed = false
  private var open = 0

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
    passed(0) = 0
    isObserved && !isMixed
  }

  /** How many rows have passed since `start`; None: not known. */
  private[remember] def end(): Option[Long] = Option.when(isObserved && !isMixed)(passed(0))

  /** The values of these rows; None: not known of all of them. */
  private[remember] def ranges: Option[ValueRanges] =
    Option.when(columns > 0 && passed(0) <= TaskHits.MostValues) {
      val rows = passed(0).toInt
      val each = values.zip(nulls).map { case (value, isNull) =>
        var (least, greatest) = (Long.MaxValue, Long.MinValue)
        var i = 0
        while (i < rows) {
          if (!isNull(i)) {
            least = math.min(least, value(i))
            greatest = math.max(greatest, value(i))
          }
          i += 1
        }
        (least, greatest)
      }
      new ValueRanges(each.map(_._1), each.map(_._2))
    }
}

object TaskHits {

  /** The most rows of a file, or of a row group, whose values are kept. Bounds of more rows rarely
    * say much.
    */
  private[remember] val MostValues = 1024

  /** The place of a row is its number, and these bits of it. */
  private[remember] val LastPlace = MostValues - 1

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
