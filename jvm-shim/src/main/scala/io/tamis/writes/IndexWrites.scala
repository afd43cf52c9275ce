package io.tamis.writes

import io.tamis.bridge.{AnyFailure, Daemons, OncePerContext, RecentlyUsed, SidecarSupervisor}
import io.tamis.conf.{Mode, TamisConf}
import io.tamis.listing.{FileOptions, Listing}
import io.tamis.report.QueryListener
import io.tamis.rules.relations.Eligibility
import io.tamis.wire.WrittenFilesRequest
import java.lang.ref.WeakReference
import java.util.concurrent.{ConcurrentHashMap, ScheduledThreadPoolExecutor, TimeUnit}

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.SparkContext
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.QueryExecution

/** Unless `spark.tamis.index.auto` is off, has the files of a write indexed after it has ended
  * well, so that already the first query finds them in an automatic index.
  *
  * A thread lists the directory that was written and sends the new files to the sidecar, which
  * reads their footers in the background. The write has ended before. What fails here, or is too
  * much, is left to the first query.
  *
  * Writes of a directory that wait for the thread count as one. After a listing, the directory is
  * not listed for ten times as long as that took.
  */
final class IndexWrites private extends QueryListener {
  override protected def ended(ran: QueryExecution, execution: Long, time: Long): Unit =
    IndexWrites.add(ran)
}

object IndexWrites {
  private val MostWaiting = 1000
  private val MostFiles = 10000
  private val Pause = 10

  /** Storage other than local disks may have modification times in whole seconds. The sidecar does
    * not index files that may still be replaced within such a second (see local_footers.py).
    */
  private val SettledMs = 4000L

  /** How long, and how often, to wait for a sidecar that has not started yet. */
  private val StartMs = 3000L
  private val Attempts = 5

  private val listening = new OncePerContext
  private val waiting = ConcurrentHashMap.newKeySet[String]()
  private val notBefore = new RecentlyUsed[String, Long](MostWaiting)
  private val thread = new ScheduledThreadPoolExecutor(1, Daemons.factory("tamis-index-writes"))

  /** Starts to index writes, once per context. */
  def listenTo(context: SparkContext): Unit = listening(context) {
    quietly(context)(context.addSparkListener(new IndexWrites))
  }

  private def add(ran: QueryExecution): Unit = quietly(ran.sparkSession.sparkContext) {
    if (isOn(ran.sparkSession)) ParquetWrite.of(ran).foreach { write =>
      val key = s"${System.identityHashCode(ran.sparkSession)} ${write.directory}"
      if (waiting.size < MostWaiting && waiting.add(key)) {
        val isLocal = Option(write.root.toUri.getScheme).forall(_ == "file")
        schedule(key, new WeakReference(ran.sparkSession), write, if (isLocal) 0 else SettledMs)
      }
    }
  }

  private def isOn(session: ClassicSession): Boolean = {
    val conf = session.sessionState.conf
    TamisConf.mode(conf) != Mode.Off && TamisConf.indexEnabled(conf) &&
    TamisConf.indexAutoName(conf) != "off"
  }

  private def schedule(
      key: String,
      session: WeakReference[ClassicSession],
      write: ParquetWrite,
      delayMs: Long,
      attempts: Int = Attempts
  ): Unit = {
    def again(delayMs: Long, attempts: Int): Unit = schedule(key, session, write, delayMs, attempts)
    val task: Runnable = () => {
      val pause = notBefore.get(key).fold(0L)(_ - System.nanoTime())
      if (pause > 0) again(TimeUnit.NANOSECONDS.toMillis(pause) + 1, attempts)
      else if (!SidecarSupervisor.current.exists(_.isAlive) && attempts > 1)
        again(StartMs, attempts - 1)
      else {
        waiting.remove(key) // a write that ends from now on is listed once more
        Option(session.get).filterNot(_.sparkContext.isStopped).foreach { session =>
          quietly(session.sparkContext)(session.withActive(index(key, session, write)))
        }
      }
    }
    thread.schedule(task, delayMs, TimeUnit.MILLISECONDS): Unit
  }

  private def index(key: String, session: ClassicSession, write: ParquetWrite): Unit = {
    val conf = session.sessionState.conf
    for {
      sidecar <- SidecarSupervisor.current.filter(_.isAlive)
      if isOn(session) && !Eligibility.isMatchedByFieldId(write.schema)
      files <- paced(key)(ParquetWrite.files(session, write, TamisConf.indexAutoMaxFiles(conf)))
      if files.nonEmpty && files.size <= MostFiles
    } {
      val request = WrittenFilesRequest(
        Listing.canonical(write.root.toUri.toString),
        write.schema,
        conf.caseSensitiveAnalysis,
        files.map(keyOf),
        FileOptions.storage(session, Seq(write.root), write.options),
        TamisConf.cacheLocation(conf)
      )
      request.read(sidecar.planner.written(request.toJson))
    }
  }

  private def keyOf(file: FileStatus): (String, String, Long, Long) = {
    val uri = file.getPath.toUri.toString
    val (directory, name) = uri.splitAt(uri.lastIndexOf('/'))
    (directory, name.drop(1), file.getLen, file.getModificationTime)
  }

  private def paced[A](key: String)(list: => A): A = {
    val started = System.nanoTime()
    try list
    finally {
      val ended = System.nanoTime()
      notBefore.put(key, ended + Pause * (ended - started))
    }
  }

  private def quietly(context: SparkContext)(act: => Unit): Unit =
    AnyFailure.warned(
      _ => "index:written",
      "files that a query wrote could not be indexed",
      "The first query that needs them indexes them; spark.tamis.index.auto=off turns this off."
    ) {
      try act
      catch { case AnyFailure(_) if context.isStopped => } // this application ends
    }(_ => ())
}
