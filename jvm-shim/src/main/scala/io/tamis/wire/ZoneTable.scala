package io.tamis.wire

import java.time.Instant
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.catalyst.util.DateTimeUtils

/** The offset changes of a time zone as this JVM knows them. Python's copy of the time zone
  * database may be of another edition, and a file pruned by other rules than the rows are read with
  * would be lost.
  *
  * Format "-17762;-2717650800:-18000,…": the first offset, then each transition and the offset
  * after it, in seconds, up to the year 2100.
  */
private[wire] object ZoneTable {
  private val end = Instant.parse("2100-01-01T00:00:00Z")
  private val tables = new ConcurrentHashMap[String, Option[String]]()

  def of(id: String): Option[String] =
    tables.computeIfAbsent(id, _ => Try(table(id)).toOption)

  private def table(id: String): String = {
    val rules = DateTimeUtils.getZoneId(id).getRules
    val explicit = rules.getTransitions.asScala.toSeq
    val last = explicit.lastOption.map(_.getInstant).getOrElse(Instant.EPOCH)
    val recurring = Iterator
      .iterate(rules.nextTransition(last))(t => rules.nextTransition(t.getInstant))
      .takeWhile(t => t != null && t.getInstant.isBefore(end))
    val first =
      explicit.headOption.map(_.getOffsetBefore).getOrElse(rules.getOffset(Instant.EPOCH))
    (explicit.iterator ++ recurring)
      .map(t => s"${t.toEpochSecond}:${t.getOffsetAfter.getTotalSeconds}")
      .mkString(s"${first.getTotalSeconds};", ",", "")
  }
}
