package io.tamis.planning

import io.tamis.bridge.RecentlyUsed
import io.tamis.wire.{Goal, PlanAnswer, ScanRequest}
import java.util.concurrent.atomic.AtomicLong

/** Remembers recent answers, because one query plans a scan several times.
  *
  * An old answer is never wrong, since it is about one listing; it may only lack what a newer index
  * knows.
  */
object AnswerMemo {
  private val Remembered = 256
  private val LifetimeNanos = 5L * 1000 * 1000 * 1000

  final case class Key(
      scan: ScanRequest,
      rowGroups: Boolean,
      goal: Option[Goal],
      mostValues: Int
  )
  private final case class Entry(answer: PlanAnswer, written: Long)

  private val entries = new RecentlyUsed[Key, Entry](Remembered)
  private val epochs = new AtomicLong()

  def get(key: Key): Option[PlanAnswer] =
    entries.get(key).filter(e => System.nanoTime() - e.written < LifetimeNanos).map(_.answer)

  def put(key: Key, answer: PlanAnswer): Unit = entries.put(key, Entry(answer, System.nanoTime()))

  /** Number of index builds that this driver has noticed; part of every question. */
  def epoch: Long = epochs.get

  /** Discards all answers, because there is more to know about the same files. */
  def forget(): Unit = entries.clear()

  /** Discards all answers, because an index was built, refreshed or dropped. */
  def invalidate(): Unit = { epochs.incrementAndGet(); entries.clear() }
}
