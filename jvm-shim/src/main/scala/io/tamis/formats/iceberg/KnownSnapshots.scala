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
  */
private[iceberg] final class KnownSnapshots {
  import KnownSnapshots._

  private val listed =
    new util.LinkedHashMap[(Key, Option[ObjectNode]), IcebergFiles](16, 0.75f, true)
  private val failed = new util.HashMap[Key, (String, Long)]

  /** All files of a snapshot if they are known; otherwise what `list` returns, given the parts that
    * are known.
    */
  def getOrElse(key: Key)(list: Seq[IcebergFiles] => Outcome): Either[String, IcebergFiles] =
    remembered(key).getOrElse {
      val outcome = list(partsOf(key))
      if (outcome.isFinal) remember(key, outcome.files)
      outcome.files
    }

  private def remembered(key: Key): Option[Either[String, IcebergFiles]] = synchronized {
    failed.values.removeIf { case (_, until) => System.nanoTime() - until > 0 }
    Option(listed.get(key -> None))
      .map(Right(_))
      .orElse(Option(failed.get(key)).map { case (why, _) => Left(why) })
  }

  private def partsOf(key: Key): Seq[IcebergFiles] = synchronized {
    listed.asScala.collect { case ((`key`, _), files) => files }.toSeq
  }

  private def remember(key: Key, files: Either[String, IcebergFiles]): Unit = synchronized {
    files match {
      case Left(why)    => failed.put(key, why -> (System.nanoTime() + RetryNanos)): Unit
      case Right(files) =>
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
  }
}

private[iceberg] object KnownSnapshots {

  /** Application, location of the table, snapshot. */
  type Key = (String, Path, IcebergSnapshot)

  /** @param isFinal
    *   false: another attempt may succeed at once
    */
  final case class Outcome(files: Either[String, IcebergFiles], isFinal: Boolean)

  private val MostFiles = 300000L
  private val MostListings = 64
  private val RetryNanos = 60L * 1000 * 1000 * 1000
}
