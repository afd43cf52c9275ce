package io.tamis.bridge

/** What the sidecar serves over py4j. Strings only, and nothing that makes Python talk back to the
  * JVM.
  */
trait Planner {
  def plan(request: String): String
  def imply(request: String): String
  def ping(): String

  /** Writes what statistics say of each file that a plan request asks about to
    * `<id>.evidence.arrow` in the private directory.
    */
  def evidence(request: String): String

  /** Writes the history to `<id>.history.arrow` in the private directory. */
  def history(request: String): String

  /** A scan that ran, for the history: taken at once, written later. The answer is empty, or says
    * what is wrong with the history.
    */
  def record(scan: String): String

  /** Writes what was recorded so far; answers as `record`. */
  def flush(): String
}

/** The planner cannot be asked now; the text says why. The query runs as plain Spark. */
final class PlannerUnavailable(message: String, cause: Throwable = null)
    extends RuntimeException(message, cause)
