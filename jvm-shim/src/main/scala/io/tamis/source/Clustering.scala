package io.tamis.source

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.JsonNodeFactory
import io.tamis.wire.{ClusteredGoal, GoalReader}
import org.apache.spark.sql.catalyst.expressions.Expression

/** Which keys the files of a scan are clustered by, so that single values lie in few of them. */
object Clustering {

  /** One flag a key. False where there is nothing to choose from, or nobody knows. */
  def of(table: TamisTable, conjuncts: Seq[Expression], keys: Seq[Expression]): Seq[Boolean] =
    if (keys.isEmpty || table.purpose.within.exists(_.count < 2)) keys.map(_ => false)
    else
      try {
        val writer = Question.writer(table)
        val documents = JsonNodeFactory.instance.arrayNode()
        keys.foreach(k => documents.add(writer.write(k)))
        ScanPlanner
          .ask(table, conjuncts, ClusteredGoal(documents))
          .fold(_ => keys.map(_ => false), found => GoalReader.flags(found.answer, keys.size))
      } catch { case NonFatal(_) => keys.map(_ => false) } // it is a guess about benefit
}
