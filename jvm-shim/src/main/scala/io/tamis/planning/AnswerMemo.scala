package io.tamis.planning

import io.tamis.bridge.RecentlyUsed
import io.tamis.wire.{Goal, PlanAnswer, Pushdown, ScanRequest, SnapshotOfFiles}
import java.util.concurrent.atomic.AtomicLong

/** Remembers recent answers, because one query plans a scan several times.
  *
  * An old answer is never wrong, since it is about one listing; it may only lack what a newer index
  * knows. An answer to which no index can add anything is remembered until it is displaced.
  *
  * @param nanoTime
  *   a clock
  */
private[planning] final class AnswerMemo(nanoTime: () => Long) {
  import AnswerMemo._

  private val entries = new RecentlyUsed[Key, Entry](Remembered)

  def get(key: Key): Option[PlanAnswer] = entries
    .get(key)
    .filter(entry => entry.isFinal || nanoTime() - entry.written < LifetimeNanos)
    .map(_.answer)

  def put(key: Key, answer: PlanAnswer): Unit =
    entries.put(key, Entry(answer, nanoTime(), isFinal(key, answer)))

  def clear(): Unit = entries.clear()

  def forget(of: ScanRequest => Boolean): Unit = entries.remove(_.scans.exists(of))

  /** Whether no index knows more than the answer: the kept files have known numbers of rows, and
    * every conjunct is true for each of these rows. So no file can be left out but one without
    * rows, and no conjunct can leave the plan that has not. Filters on join keys alone, `k IS NOT
    * NULL`, are answered like this.
    *
    * A goal may have a better answer with other statistics. A warning is about an index that may be
    * repaired.
    */
  private def isFinal(key: Key, answer: PlanAnswer): Boolean =
    key.goal.isEmpty && answer.keptRecords.isDefined && answer.totalRecords.isDefined &&
      answer.outcomes.forall(_.pushdown == Pushdown.Exact) && answer.warnings.isEmpty
}

object AnswerMemo {
  private val Remembered = 256
  private[planning] val LifetimeNanos = 5L * 1000 * 1000 * 1000

  final case class Key(
      scan: ScanRequest,
      rowGroups: Boolean,
      goal: Option[Goal],
      mostValues: Int
  ) {

    /** The scans that an answer is about. */
    def scans: Seq[ScanRequest] = scan +: goal.toSeq.flatMap(_.scans)
  }

  private final case class Entry(answer: PlanAnswer, written: Long, isFinal: Boolean)

  /** Listings that were answered about. */
  private val known = new RecentlyUsed[SnapshotOfFiles, Unit](Remembered)

  private val memo = new AnswerMemo(() => System.nanoTime())
  private val epochs = new AtomicLong()

  def get(key: Key): Option[PlanAnswer] = memo.get(key)
  def put(key: Key, answer: PlanAnswer): Unit = {
    known.put(key.scan.snapshot, ())
    memo.put(key, answer)
  }

  /** Whether the planner has answered about these files lately, so that it has opened their
    * indexes.
    */
  def isAboutKnown(files: SnapshotOfFiles): Boolean = known.get(files).isDefined

  /** Number of index builds that this driver has noticed; part of every question. */
  def epoch: Long = epochs.get

  /** Discards the answers about such scans, because there is more to know about the same files. */
  def forget(of: ScanRequest => Boolean): Unit = memo.forget(of)

  /** Discards all answers, because an index was built, refreshed or dropped. */
  def invalidate(): Unit = { epochs.incrementAndGet(); known.clear(); memo.clear() }
}
