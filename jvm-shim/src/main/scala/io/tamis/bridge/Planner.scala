package io.tamis.bridge

/** What the sidecar serves over py4j. Strings only, and nothing that makes Python talk back to the
  * JVM.
  */
trait Planner {
  def plan(request: String): String
  def imply(request: String): String
  def ping(): String
}

/** The planner cannot be asked now; the text says why. The query runs as plain Spark. */
final class PlannerUnavailable(message: String, cause: Throwable = null)
    extends RuntimeException(message, cause)
