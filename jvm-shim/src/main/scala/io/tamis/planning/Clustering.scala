package io.tamis.planning

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.wire.{ClusteredGoal, GoalReader}
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.internal.SQLConf

/** Determines which keys the files of a scan are clustered by, so that single values lie in few of
  * them.
  */
object Clustering {

  /** One flag per key. False if there are fewer than two files, if the answer is not known, or in
    * the mode `observe`, where nothing is pruned when the query runs.
    */
  def of(table: PlannedFiles, conjuncts: Seq[Expression], keys: Seq[Expression]): Seq[Boolean] =
    if (
      keys.isEmpty || table.purpose.within.exists(_.count < 2) ||
      TamisConf.mode(SQLConf.get) != Mode.Apply
    ) keys.map(_ => false)
    else
      try {
        ScanPlanner
          .ask(table, conjuncts, ClusteredGoal(Question.writer(table).writeAll(keys)))
          .fold(_ => keys.map(_ => false), goal => GoalReader.flags(goal.answer, keys.size))
      } catch { case NonFatal(_) => keys.map(_ => false) } // the flag only estimates a benefit
}
