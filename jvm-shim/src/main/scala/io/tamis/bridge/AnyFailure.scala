package io.tamis.bridge

import scala.util.control.NonFatal

import org.apache.spark.SparkThrowable

/** A failure of tamis that must not stop a query. A LinkageError is one: the internals of this
  * Spark may differ from those that the jar was built for.
  */
object AnyFailure {
  def unapply(e: Throwable): Option[Throwable] = e match {
    case NonFatal(_) | _: LinkageError => Some(e)
    case _                             => None
  }

  /** The value; after a failure, one warning that says what failed, and `otherwise`. There is no
    * warning if the planner is not available, which was already reported.
    *
    * @param key
    *   of the warning
    * @param advice
    *   what to do about it, and what it affects
    */
  def warned[A](key: Throwable => String, what: => String, advice: String)(value: => A)(
      otherwise: Throwable => A
  ): A =
    try value
    catch {
      case e: PlannerUnavailable => otherwise(e)
      case AnyFailure(e)         =>
        Warnings.once(key(e), s"$what ($e). $advice", e)
        otherwise(e)
    }

  /** Whether the failure, or what caused it, is that a user has cancelled a job. */
  def isCancelled(e: Throwable): Boolean =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(10).exists {
      case _: InterruptedException => true
      case e: SparkThrowable       => e.getCondition == "SPARK_JOB_CANCELLED"
      case _                       => false
    }

  /** A key for warnings, one for each class of failures. */
  def keyed(prefix: String)(e: Throwable): String = s"$prefix:${e.getClass.getName}"
}
