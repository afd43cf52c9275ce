package io.tamis.bridge

import java.util.concurrent.ThreadFactory

/** Makes the threads that tamis starts. */
object Daemons {

  /** A daemon thread that inherits no thread locals of the thread that happens to start it.
    *
    * Spark keeps the SQL execution id, the job group, tags, description and scheduler pool of a
    * query in inheritable thread locals, and the active session too. With them, a job of this
    * thread would count as a job of that query, long after the query has ended.
    */
  def thread(name: String)(task: Runnable): Thread = {
    val inheritThreadLocals = false
    val made = new Thread(null, task, name, 0L, inheritThreadLocals)
    // since Java 21 the class loader is not inherited either; --jars needs it
    made.setContextClassLoader(Thread.currentThread().getContextClassLoader)
    made.setDaemon(true)
    made
  }

  /** Makes such threads, all of the same name. */
  def factory(name: String): ThreadFactory = (task: Runnable) => thread(name)(task)
}
