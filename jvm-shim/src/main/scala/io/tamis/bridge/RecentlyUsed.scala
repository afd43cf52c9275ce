package io.tamis.bridge

import java.util

/** A map that forgets the least recently used entries beyond `most`. Safe for several threads. */
final class RecentlyUsed[K, V](most: Int) {
  private val entries = new util.LinkedHashMap[K, V](16, 0.75f, true) {
    override def removeEldestEntry(eldest: util.Map.Entry[K, V]): Boolean = size > most
  }
  def get(key: K): Option[V] = synchronized(Option(entries.get(key)))
  def put(key: K, value: V): Unit = synchronized { entries.put(key, value); () }
  def remove(where: K => Boolean): Unit = synchronized {
    entries.keySet.removeIf(key => where(key)); ()
  }
  def clear(): Unit = synchronized(entries.clear())
}
