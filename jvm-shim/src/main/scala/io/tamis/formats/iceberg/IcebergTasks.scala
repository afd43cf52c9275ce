package io.tamis.formats.iceberg

import io.tamis.formats.Members
import java.util

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.connector.read.Scan

/** The tasks of a scan of Iceberg, each of which reads a part of a file. They are replaced as
  * Iceberg's own run-time filters replace them (`resetTasks` of SparkPartitioningAwareScan).
  */
private[iceberg] final class IcebergTasks(scan: Scan) {

  def planned: Seq[AnyRef] =
    Members.get[util.List[AnyRef]](scan, IcebergTasks.Tasks).asScala.toSeq

  /** The files that they read. */
  def locations: Seq[String] = planned.map(locationOf).distinct

  /** The locations of the manifests that list these files; None: Iceberg does not say. */
  def manifests: Option[Set[String]] = {
    val each = planned.map(task => IcebergTasks.manifestOf(IcebergTasks.fileOf(task)))
    Option.when(each.forall(_.isDefined))(each.flatten.toSet)
  }

  def locationOf(task: AnyRef): String = IcebergTasks.locationOf(IcebergTasks.fileOf(task))

  def keep(isKept: AnyRef => Boolean): Unit = choose(task => Option.when(isKept(task))(task))

  /** Replaces each task by another one, or removes it. */
  def choose(replacement: AnyRef => Option[AnyRef]): Unit = {
    val before = planned
    val after = before.flatMap(replacement(_))
    val isSame = after.size == before.size && after.lazyZip(before).forall(_ eq _)
    if (!isSame) reset(after)
  }

  def reset(to: Seq[AnyRef]): Unit =
    Members.call(scan, IcebergTasks.Reset, new util.ArrayList(to.asJava)): Unit
}

private[iceberg] object IcebergTasks {
  val OfSpark = "org.apache.iceberg.spark.source.SparkBatchQueryScan"
  private val Tasks = "tasks"
  private val Reset = "resetTasks"

  def fileOf(task: AnyRef): AnyRef = Members.call(Altered.original(task), "file")
  def locationOf(file: AnyRef): String = Members.get[String](file, "location")

  /** The location of the manifest that lists a file; None: Iceberg does not say. */
  def manifestOf(file: AnyRef): Option[String] =
    Option(Members.get[String](file, "manifestLocation"))

  /** Whether this release of Iceberg has the members by which a scan is confined. */
  def areKnown(loader: ClassLoader): Boolean = Try {
    val scan = Class.forName(OfSpark, false, loader)
    Members.has(scan, Tasks, 0) && Members.has(scan, Reset, 1)
  }.getOrElse(false)
}
