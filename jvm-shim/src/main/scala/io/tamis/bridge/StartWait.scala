package io.tamis.bridge

import java.util.WeakHashMap
import java.util.concurrent.TimeUnit

import org.apache.spark.sql.catalyst.QueryPlanningTracker

/** How long a request may wait for the first sidecar of a driver to start, within its deadline.
  *
  * A query waits no longer than the answer could save. The requests of one query share this time,
  * so that a query that plans a scan five times does not wait five times.
  */
private[tamis] sealed trait StartWait {

  /** The nanoseconds that are left of it, of this many in all. */
  private[bridge] def nanos(inAll: Long): Long

  /** Counts nanoseconds that a request has waited. */
  private[bridge] def spend(nanos: Long): Unit
}

private[tamis] object StartWait {

  /** Until the deadline, because a user waits for the answer itself. */
  case object Full extends StartWait {
    private[bridge] override def nanos(inAll: Long): Long = inAll
    private[bridge] override def spend(nanos: Long): Unit = ()
  }

  /** At most this time; `millis` is computed only if the sidecar is still starting. */
  final class AtMost(millis: => Long) extends StartWait {
    private val query = QueryPlanningTracker.get
    private[bridge] override def nanos(inAll: Long): Long =
      math.max(0L, math.min(inAll, TimeUnit.MILLISECONDS.toNanos(millis)) - query.fold(0L)(spent))
    private[bridge] override def spend(nanos: Long): Unit =
      query.foreach(q => waited.synchronized(waited.put(q, spent(q) + nanos)))
  }

  /** For a request of a query, unless a user waits for its plan. */
  def atMost(millis: => Long): StartWait = if (full.get) Full else new AtMost(millis)

  /** Plans for a user who waits for the plan itself, such as in tamis.explain: every request of
    * this thread waits in full.
    */
  def inFull[A](act: => A): A = {
    val outer = full.get
    full.set(true)
    try act
    finally full.set(outer)
  }

  // not inheritable: threads of Spark outlive the call that starts them
  private val full = ThreadLocal.withInitial[Boolean](() => false)

  /** Nanoseconds that the requests of a query have waited. A tracker belongs to one query. */
  private val waited = new WeakHashMap[QueryPlanningTracker, Long]()
  private def spent(query: QueryPlanningTracker): Long =
    waited.synchronized(waited.getOrDefault(query, 0L))
}
