package io.tamis.bridge

import java.util.concurrent._

/** Runs tasks one after the other in the background. Beyond the capacity they are dropped.
  *
  * @param thread
  *   the name of its thread, which ends when there is nothing to do
  */
final class DroppingQueue(thread: String) {
  private val executor = new ThreadPoolExecutor(
    1,
    1,
    30,
    TimeUnit.SECONDS,
    new ArrayBlockingQueue[Runnable](DroppingQueue.MostWaiting),
    Daemons.factory(thread),
    new ThreadPoolExecutor.DiscardPolicy
  )
  executor.allowCoreThreadTimeOut(true)

  def add(task: => Unit): Unit = executor.execute(() => task)

  /** Runs a last task after those so far, and waits for it at most so many milliseconds. */
  def drain(millis: Long)(last: => Unit): Unit = {
    val task = new FutureTask[Unit](() => last)
    executor.execute(task)
    try task.get(millis, TimeUnit.MILLISECONDS)
    catch { case _: TimeoutException => } // they go on in the background
  }
}

object DroppingQueue {
  private val MostWaiting = 64
}
