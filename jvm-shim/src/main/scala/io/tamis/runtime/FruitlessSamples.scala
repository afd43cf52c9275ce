package io.tamis.runtime

import io.tamis.bridge.RecentlyUsed

/** Samples that held too few rows. This driver does not read them again: it only saves time, and no
  * result depends on it. A sample is named by the files of its table and by its query, so that a
  * change of the table gives it another chance.
  */
object FruitlessSamples {
  private val seen = new RecentlyUsed[String, java.lang.Boolean](1000)

  def contains(sample: String): Boolean = seen.get(sample).isDefined
  def add(sample: String): Unit = seen.put(sample, true)
  def clear(): Unit = seen.clear()
}
