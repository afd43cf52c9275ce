package io.tamis.bridge

import scala.util.control.NonFatal

/** A failure of tamis that must not stop a query. A LinkageError is one: the internals of this
  * Spark may differ from those that the jar was built for.
  */
object AnyFailure {
  def unapply(e: Throwable): Option[Throwable] = e match {
    case NonFatal(_) | _: LinkageError => Some(e)
    case _                             => None
  }
}
