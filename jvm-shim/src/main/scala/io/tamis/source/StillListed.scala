package io.tamis.source

import java.io.File
import java.nio.file.{Files, Path}
import java.nio.file.attribute.BasicFileAttributes

import scala.util.Try

import io.tamis.bridge.Warnings
import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/** Looks whether files are still as Spark listed them, where that costs little: up to a thousand
  * files on a local disk, a few microseconds each.
  *
  * Spark keeps a listing until somebody refreshes it, and reads what lies at its paths by then. A
  * file that was overwritten in place holds other rows than its statistics tell, so nothing is
  * taken for known of it.
  */
object StillListed {
  private val MostFiles = 1000
  private val FreshNanos = 20L * 1000 * 1000 // one planning asks many times

  /** The listing, or the same one that knows which files are not what they were. */
  def in(listing: Listing, relation: HadoopFsRelation): Listing =
    if (listing.size == 0 || listing.size > MostFiles || !isLocal(relation)) listing
    else listing.watch.current(relation)

  private def isLocal(relation: HadoopFsRelation): Boolean =
    relation.location.rootPaths.forall(p => Option(p.toUri.getScheme).forall(_ == "file")) && {
      val hadoop = relation.sparkSession.sparkContext.hadoopConfiguration
      val named = Option(hadoop.get("fs.file.impl"))
      named.forall(_ == "org.apache.hadoop.fs.LocalFileSystem")
    }

  /** Of one listing of Spark's. Gives the same listing as long as nothing changes. */
  private[source] final class Watch(listed: Listing) {
    private lazy val paths: Array[Path] =
      listed.files.map(f => new File(f.getPath.toUri.getPath).toPath)
    private var looked = 0L
    private var latest = listed

    def current(relation: HadoopFsRelation): Listing = synchronized {
      val now = System.nanoTime()
      if (looked == 0L || now - looked > FreshNanos) {
        val changed = changes
        if (changed != latest.changed) {
          latest = if (changed.isEmpty) listed else listed.knowing(changed)
          if (changed.nonEmpty) say(relation, changed.size)
        }
        looked = System.nanoTime()
      }
      latest
    }

    private def changes: Set[Int] = paths.indices.filterNot { i =>
      val file = listed.files(i)
      Try(Files.readAttributes(paths(i), classOf[BasicFileAttributes])).toOption.exists(now =>
        now.size == file.getLen && now.lastModifiedTime.toMillis == file.getModificationTime
      )
    }.toSet

    private def say(relation: HadoopFsRelation, count: Int): Unit = {
      val root = relation.location.rootPaths.headOption.fold("a table")(_.toString)
      Warnings.once(
        s"changed:$root",
        s"$count files of $root were written or deleted since Spark listed them: statistics say " +
          "nothing of them, and they are read. REFRESH TABLE, or a new spark.read, lists them anew."
      )
    }
  }
}
