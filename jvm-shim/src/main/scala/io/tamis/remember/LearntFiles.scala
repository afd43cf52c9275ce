package io.tamis.remember

import io.tamis.bridge.{AnyFailure, DroppingQueue, OncePerContext, SidecarSupervisor}
import io.tamis.conf.TamisConf
import io.tamis.listing.Snapshots
import io.tamis.planning.{AnswerMemo, Question}
import io.tamis.report.{QueryListener, SparkEvents}
import io.tamis.scan.TamisScanExec
import io.tamis.wire.{
  LearntRequest,
  Messages,
  PassingFiles,
  RememberedKeys,
  RowsOfFiles,
  ValuesOfFiles
}
import java.util.concurrent.TimeoutException

import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec

/** Sends what scans have learnt to the sidecar, after queries that succeeded. No query waits for
  * it, and beyond the queue's capacity it is dropped.
  */
final class LearntFiles private () extends QueryListener with AdaptiveSparkPlanHelper {

  override protected def ended(ran: QueryExecution, execution: Long, time: Long): Unit = {
    val conf = ran.sparkSession.sessionState.conf
    if (Try(TamisConf.rememberEnabled(conf)).getOrElse(false))
      LearntFiles.quietly {
        learners(ran.executedPlan).distinct.foreach { learner =>
          val learnt = learner.take()
          if (!learnt.isEmpty)
            LearntFiles.sending.add {
              LearntFiles.quietly(ran.sparkSession.withActive(LearntFiles.send(learner, learnt)))
            }
        }
      }
  }

  /** Those of a cached plan, too: a query that reads it may have run it. And those of samples. */
  private def learners(plan: SparkPlan): Seq[Learner] = collectWithSubqueries(plan) {
    case noting: NoteHitsExec          => Seq(noting.learner)
    case cached: InMemoryTableScanExec => learners(cached.relation.cachedPlan)
    case TamisScanExec(_, scan)        =>
      scan.table.purpose.boundary.toSeq.flatMap(_.plans).flatMap(learners)
  }.flatten
}

object LearntFiles {
  private val DeliveredMs = 10000L
  private val listening = new OncePerContext

  private val sending = new DroppingQueue("tamis-learnt")

  /** Starts to learn, once per context. */
  def listenTo(context: SparkContext): Unit = listening(context) {
    quietly(context.addSparkListener(new LearntFiles))
  }

  /** Waits until what the queries that have ended have learnt is stored, at most for some seconds.
    */
  def flush(context: SparkContext): Unit = quietly {
    try {
      SparkEvents.delivered(context, DeliveredMs)
      sending.drain(DeliveredMs)(())
    } catch { case _: TimeoutException => } // other listeners of a busy driver
  }

  private def send(learner: Learner, learnt: Learnt): Unit =
    SidecarSupervisor.current.filter(_.isAlive).foreach { sidecar =>
      val listing = learner.decision.kept.listing
      Snapshots.ensure(listing, SidecarSupervisor.privateDirectory)
      val request = LearntRequest(
        Question.identity(learner.files, listing),
        learner.predicates.reading,
        learner.predicates.keys,
        learner.predicates.sql,
        Messages.keptDocument(learnt.withoutHit.files, listing.size),
        RowsOfFiles.of(ranges(learnt.withoutHit)),
        learner.started,
        PassingFiles(
          learner.filtered.keys,
          learner.filtered.sql,
          Messages.keptDocument(learnt.full.files, listing.size),
          RowsOfFiles.of(ranges(learnt.full))
        ),
        Option.when(learnt.values.nonEmpty)(ValuesOfFiles.of(learner.columns, values(learnt)))
      )
      val hasChanged = request.read(sidecar.planner.learn(request.toJson))
      if (hasChanged) AnswerMemo.forget(_.remembered.exists(mayKnowMore(request)))
    }

  /** Whether what was learnt may improve an answer so far: it is about scans with one of the
    * conjuncts of the filter, as far as all rows pass, and otherwise about scans with all of them.
    */
  private def mayKnowMore(learnt: LearntRequest)(scan: RememberedKeys): Boolean =
    scan.reading == learnt.reading && learnt.passing.keys.exists(scan.keys.flatten.toSet)

  /** File, least and greatest values. */
  private def values(learnt: Learnt): Seq[(Int, Array[Long], Array[Long])] =
    learnt.values.toSeq
      .sortBy(_._1)
      .take(MostRanges)
      .map { case (file, of) => (file, of.least, of.greatest) }

  /** File, start and stop, at most `MostRanges`. */
  private def ranges(parts: PartsOfFiles): Seq[(Int, Long, Long)] =
    parts.rows.toSeq
      .sortBy(_._1)
      .flatMap { case (file, rows) => rows.pairs.map { case (start, stop) => (file, start, stop) } }
      .take(MostRanges)

  /** Larger notes would delay planning. */
  private val MostRanges = 1 << 16

  private def quietly(act: => Unit): Unit =
    AnyFailure.warned(
      _ => "remember:failed",
      "what a query has learnt about its files could not be stored",
      "Queries are not affected; spark.tamis.remember.enabled=false turns this off."
    )(act)(_ => ())
}
