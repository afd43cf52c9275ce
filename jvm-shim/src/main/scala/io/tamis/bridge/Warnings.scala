package io.tamis.bridge

import java.util.concurrent.ConcurrentHashMap

import org.slf4j.LoggerFactory

/** Logs one warning per key and driver. `resolved` makes the warnings of some keys appear again.
  * After 1,000 keys all of them may appear again.
  */
object Warnings {
  private val log = LoggerFactory.getLogger("io.tamis")
  private val Kept = 1000
  private val recent = new java.util.ArrayDeque[String]()
  private val said = ConcurrentHashMap.newKeySet[String]()

  def once(key: String, text: String, cause: Throwable = null): Unit = {
    if (said.size > Kept) said.clear()
    if (said.add(key)) {
      recent.synchronized { recent.add(text); if (recent.size > Kept) recent.removeFirst() }
      log.warn(s"tamis: $text")
      if (cause != null) log.debug("tamis: cause of the warning above", cause)
    }
  }

  /** The warnings of this driver, oldest first. */
  def all: Seq[String] = recent.synchronized(recent.toArray(Array.empty[String]).toSeq)

  /** Marks the problems behind the keys with this prefix as solved. */
  def resolved(prefix: String): Unit = said.removeIf(_.startsWith(prefix))
}
