package io.tamis.bridge

import java.util.concurrent.atomic.AtomicReference

import org.apache.spark.SparkContext

/** Does something for each SparkContext of this driver, once. */
final class OncePerContext {
  private val done = new AtomicReference[SparkContext]()

  def apply(context: SparkContext)(act: => Unit): Unit =
    if (done.getAndSet(context) ne context) act
}
