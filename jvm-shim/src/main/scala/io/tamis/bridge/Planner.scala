package io.tamis.bridge

/** The methods that the sidecar serves over py4j. Arguments and results are strings, and no method
  * makes Python call back into the JVM.
  */
trait Planner {
  def plan(request: String): String

  /** Answers several questions to `plan`. */
  def plans(request: String): String
  def imply(request: String): String
  def remote(request: String): String
  def remoteTasks(request: String): String
  def ping(): String

  /** Writes the data files of a snapshot of Iceberg to `<id>.iceberg.arrow` in the private
    * directory.
    */
  def icebergFiles(request: String): String

  /** Starts to index files that a query has written. */
  def written(request: String): String

  /** Starts to open the indexes of a table. */
  def openIndexes(request: String): String

  /** Says how many files wait for an automatic index. */
  def waiting(request: String): String

  /** Writes what statistics prove about each file of a plan request to `<id>.evidence.arrow` in the
    * private directory.
    */
  def evidence(request: String): String

  /** Writes the history to `<id>.history.arrow` in the private directory. */
  def history(request: String): String

  /** Stores what a scan has learnt about its files. */
  def learn(request: String): String

  /** Writes what is stored to `<id>.remembered.arrow` in the private directory. */
  def remembered(request: String): String

  /** Records a scan that ran in the history. The call returns at once and the record is written
    * later. The answer is empty, or says what is wrong with the history.
    */
  def record(scan: String): String

  /** Writes all records received so far. Same answer as `record`. */
  def flush(): String
}

/** The planner is not available; the message says why. Callers do without its answer. */
class PlannerUnavailable(message: String, cause: Throwable = null)
    extends RuntimeException(message, cause)

/** The first sidecar of the driver is still starting, and the request does not wait any longer.
  * This is not a failure: later requests find the sidecar ready.
  */
final class SidecarStarting extends PlannerUnavailable("the sidecar is still starting")
