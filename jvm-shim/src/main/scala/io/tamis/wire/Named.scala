package io.tamis.wire

/** One of several values that messages spell by name. */
trait Named {
  def name: String
}

object Named {

  /** The value with this name. Throws PlannerFailure if there is none.
    *
    * @param what
    *   what the values are, for the message
    */
  def find[A <: Named](all: Seq[A], name: String, what: String): A = all
    .find(_.name == name)
    .getOrElse(PlannerFailure.garbage(s"the unknown $what '$name'"))
}
