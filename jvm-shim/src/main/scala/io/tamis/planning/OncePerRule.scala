package io.tamis.planning

import scala.collection.mutable

/** Values that are computed once while a rule runs. A rule asks about a scan again for each join
  * that it is part of. The plan of a scan, the session and its confs stay the same meanwhile.
  */
object OncePerRule {
  private val known = new ThreadLocal[mutable.HashMap[Any, Any]]

  /** Runs a rule. One that it runs shares its values. */
  def running[A](rule: => A): A =
    if (known.get != null) rule
    else {
      known.set(mutable.HashMap.empty)
      try rule
      finally known.remove()
    }

  /** The value of this key: the one that the rule has computed before, if a rule runs. */
  def apply[A](key: Any)(value: => A): A = Option(known.get) match {
    case Some(values) => values.getOrElseUpdate(key, value).asInstanceOf[A]
    case None         => value
  }
}

/** A part of a key that is compared by identity. */
final class Same(private val of: AnyRef) {
  override def equals(other: Any): Boolean = other match {
    case same: Same => of eq same.of
    case _          => false
  }
  override def hashCode(): Int = System.identityHashCode(of)
}
