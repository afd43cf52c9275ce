package io.tamis.formats.iceberg

import io.tamis.wire.IcebergSnapshot
import java.util

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.hadoop.fs.Path

/** The snapshots that were listed last, in whole or in part, and those that could not be listed,
  * which are tried again after a while. Safe for several threads.
  *
  * A listing takes a few hundred bytes per file, so they are limited by their files.
  *
  * @param nanoTime
  *   a clock
  */
private[iceberg] final class KnownSnapshots(nanoTime: () => Long = () => System.nanoTime()) {
  import KnownSnapshots._

  private val listed =
    new util.LinkedHashMap[(Key, Option[ObjectNode]), IcebergFiles](16, 0.75f, true)
  private val failed = new util.HashMap[Key, Failure]

  /** All files of a snapshot if they are known; otherwise what `list` returns, given the parts that
    * are known.
    */
  def getOrElse(key: Key)(list: Seq[IcebergFiles] => Outcome): Either[String, IcebergFiles] =
    remembered(key).getOrElse {
      val outcome = list(partsOf(key))
      outcome.files match {
        case Right(files) => remember(key, files)
        case Left(why)    => remember(key, why, outcome.retry)
      }
      outcome.files
    }

  private def remembered(key: Key): Option[Either[String, IcebergFiles]] = synchronized {
    val now = nanoTime()
    failed.values.removeIf(each => now - each.at > Forgotten)
    Option(listed.get(key -> None))
      .map(Right(_))
      .orElse(Option(failed.get(key)).filter(each => now - each.at < each.pause).map { failure =>
        Left(failure.why)
      })
  }

  private def partsOf(key: Key): Seq[IcebergFiles] = synchronized {
    listed.asScala.collect { case ((`key`, _), files) => files }.toSeq
  }

  private def remember(key: Key, files: IcebergFiles): Unit = synchronized {
    failed.remove(key)
    if (files.isWhole) listed.keySet.removeIf(_._1 == key)
    listed.put(key -> files.listed, files)
    val oldest = listed.values.iterator
    var total = 0L
    listed.values.forEach(each => total += each.size)
    while ((total > MostFiles || listed.size > MostListings) && listed.size > 1) {
      total -= oldest.next().size
      oldest.remove()
    }
  }

  private def remember(key: Key, why: String, retry: Retry): Unit = synchronized {
    val pause = retry match {
      case AtOnce => None
      case Soon   =>
        val before = Option(failed.get(key)).filter(_.why == why)
        Some(before.fold(FirstPause)(each => (each.pause * 2).min(MostPause)))
      case Late => Some(MostPause)
    }
    pause.foreach(each => failed.put(key, Failure(why, nanoTime(), each)))
  }
}

private[iceberg] object KnownSnapshots {

  /** Application, location of the table, snapshot. */
  type Key = (String, Path, IcebergSnapshot)

  /** @param retry
    *   when to try again, if there are no files
    */
  final case class Outcome(files: Either[String, IcebergFiles], retry: Retry)

  sealed trait Retry

  /** With the next query. */
  case object AtOnce extends Retry

  /** After a second; after two, four and more if it fails again, up to a minute. */
  case object Soon extends Retry

  /** After a minute. */
  case object Late extends Retry

  private final case class Failure(why: String, at: Long, pause: Long)

  private val MostFiles = 300000L
  private val MostListings = 64
  private val Second = 1000L * 1000 * 1000
  private val FirstPause = Second
  private val MostPause = 60 * Second
  private val Forgotten = 10 * MostPause
}
