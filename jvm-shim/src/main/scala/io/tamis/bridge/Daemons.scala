package io.tamis.bridge

import java.util.concurrent.ThreadFactory

/** Creates the threads that tamis starts. */
object Daemons {

  /** Creates a daemon thread that does not inherit the thread locals of the thread that creates it.
    *
    * Spark keeps the SQL execution id, job group, tags, description and scheduler pool of a query
    * in inheritable thread locals, and the active session too. If this thread inherited them, its
    * jobs would count as jobs of that query long after the query has ended.
    */
  def thread(name: String)(task: Runnable): Thread = {
    val inheritThreadLocals = false
    val made = new Thread(null, task, name, 0L, inheritThreadLocals)
    // since Java 21 the class loader is not inherited either; --jars needs it
    made.setContextClassLoader(Thread.currentThread().getContextClassLoader)
    made.setDaemon(true)
    made
  }

  /** A factory of such threads, all with the same name. */
  def factory(name: String): ThreadFactory = (task: Runnable) => thread(name)(task)
}
