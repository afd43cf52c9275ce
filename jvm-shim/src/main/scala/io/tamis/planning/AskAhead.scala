package io.tamis.planning

import io.tamis.bridge.{AnyFailure, PlannerClient, SidecarSupervisor}
import io.tamis.wire.{PlanRequest, PlanRequests}
import scala.collection.mutable

import org.apache.spark.sql.internal.SQLConf

/** Asks the questions of a rule in one message. The rule then finds their answers remembered,
  * unless one answer changes a later question.
  */
object AskAhead {

  /** A deadline covers the whole message, so files are limited. */
  private val MostFiles = 20000

  private val noted = new ThreadLocal[mutable.ArrayBuffer[Question]]

  /** Asks the questions that `act` asks, in one message if there are several. They have no answer
    * for `act`, whose result is not used.
    */
  def apply(act: => Any): Unit = if (SidecarSupervisor.current.exists(_.isAlive)) {
    val questions = mutable.ArrayBuffer.empty[Question]
    noted.set(questions)
    try act
    finally noted.remove()
    ask(questions.toSeq)
  }

  /** Whether questions are noted and not asked. */
  def isNoting: Boolean = noted.get != null

  private[planning] def note(question: Question): Unit = noted.get += question: Unit

  /** Only about files that the planner has answered about: it may take long to open the first index
    * of a table, and each question has a deadline of its own.
    */
  private def ask(questions: Seq[Question]): Unit = {
    val open = questions.flatMap(_.open).distinctBy(_._1).filter { case (_, request) =>
      request.scans.forall(scan => AnswerMemo.isAboutKnown(scan.snapshot))
    }
    val files = open.flatMap(_._2.scans).map(_.snapshot.files.toLong).sum
    if (open.size > 1 && files <= MostFiles) quietly(answered(open))
  }

  private def answered(open: Seq[(AnswerMemo.Key, PlanRequest)]): Unit = {
    val answers = PlannerClient.ask(PlanRequests(open.map(_._2)), SQLConf.get)(_.plans)
    open.zip(answers).foreach {
      // values that it wants are evaluated when the question is asked
      case ((key, _), Some(answer)) if answer.wanted.isEmpty =>
        Question.showWarnings(answer)
        AnswerMemo.put(key, answer)
      case _ =>
    }
  }

  /** After a failure, each question is asked when its answer is needed. */
  private def quietly(act: => Unit): Unit =
    try act
    catch { case AnyFailure(_) => }
}
