package io.tamis.listing

import io.tamis.bridge.Warnings
import java.io.File
import java.nio.file.{Files, Path}
import java.nio.file.attribute.BasicFileAttributes

import scala.util.Try

import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, PartitionedFile}

/** Checks whether files are still as Spark listed them, where that is cheap: up to a thousand files
  * on a local disk, a few microseconds each. A mounted file system may be slow, so a check stops
  * after a time limit, and the next one then waits longer.
  *
  * Spark keeps a listing until it is refreshed, and reads whatever lies at its paths by then. A
  * file that was overwritten in place holds other rows than its statistics describe, so nothing is
  * known about it.
  */
object StaleFileCheck {
  private val MostFiles = 1000
  private val FreshNanos = 20L * 1000 * 1000 // planning one query checks many times
  private val MostNanos = 50L * 1000 * 1000
  private val SlowNanos = 25L * 1000 * 1000
  private val Rest = 4 // the pause after a slow check, in multiples of its duration

  /** The listing, or the same listing with the files marked that have changed. */
  def in(listing: Listing, relation: HadoopFsRelation): Listing =
    if (listing.size == 0 || listing.size > MostFiles || !isLocal(relation)) listing
    else listing.watch.current(relation)

  /** Whether a local file is still as it was listed for this split; true for other files. */
  def isAsListed(split: PartitionedFile): Boolean = {
    val uri = split.toPath.toUri
    uri.getScheme != "file" ||
    isSame(Try(new File(uri.getPath).toPath), split.fileSize, split.modificationTime)
  }

  private def isSame(path: Try[Path], size: Long, time: Long): Boolean = {
    val now = path.flatMap(p => Try(Files.readAttributes(p, classOf[BasicFileAttributes])))
    now.toOption.exists(n => n.size == size && n.lastModifiedTime.toMillis == time)
  }

  private def isLocal(relation: HadoopFsRelation): Boolean =
    relation.location.rootPaths.forall(p => Option(p.toUri.getScheme).forall(_ == "file")) && {
      val hadoop = relation.sparkSession.sparkContext.hadoopConfiguration
      val named = Option(hadoop.get("fs.file.impl"))
      named.forall(_ == "org.apache.hadoop.fs.LocalFileSystem")
    }

  /** Watches one listing of Spark's. Returns the same object as long as nothing changes. */
  private[tamis] final class Watch(listed: Listing) {
    // a name that this JVM cannot represent is not a path
    private lazy val paths: Array[Try[Path]] =
      listed.files.toArray.map(f => Try(new File(f.getPath.toUri.getPath).toPath))
    private var next = System.nanoTime()
    private var latest = listed

    def current(relation: HadoopFsRelation): Listing = synchronized {
      val started = System.nanoTime()
      if (started - next >= 0) {
        val changed = changes(started + MostNanos)
        if (changed != latest.changed) {
          latest = if (changed.isEmpty) listed else listed.knowing(changed)
          if (changed.nonEmpty) say(relation, changed.size)
        }
        val ended = System.nanoTime()
        val took = ended - started
        next = ended + (if (took < SlowNanos) FreshNanos else Rest * took)
      }
      latest
    }

    /** A file that the check does not reach in time keeps its earlier state. */
    private def changes(deadline: Long): Set[Int] =
      paths.indices.filter { i =>
        if (System.nanoTime() - deadline < 0) isOther(i) else latest.changed(i)
      }.toSet

    private def isOther(i: Int): Boolean = {
      val file = listed.files(i)
      !isSame(paths(i), file.getLen, file.getModificationTime)
    }

    private def say(relation: HadoopFsRelation, count: Int): Unit = {
      val root = relation.location.rootPaths.headOption.fold("a table")(_.toString)
      Warnings.once(
        s"changed:$root",
        s"files of $root have changed or disappeared since Spark listed them ($count in all), so " +
          "tamis does not skip them. Run REFRESH TABLE, or create the DataFrame again with spark.read."
      )
    }
  }
}
