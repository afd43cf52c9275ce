package io.tamis.rules.guards

import io.tamis.bridge.Warnings
import io.tamis.planning.PlannedFiles
import io.tamis.wire.PredicateParser
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}

/** Warns about names in the confs of guards that match nothing, such as misspelled ones.
  *
  * This is a warning and not an error, because a table may be created later, and a conf for all
  * queries may name columns that most queries do not have.
  *
  *   - A table of `spark.tamis.requireFilter` is looked up once, when the first query that does not
  *     scan it is planned.
  *   - A column of `spark.tamis.assertPruned` is compared with the tables that queries scan, until
  *     one of them has it.
  */
private[tamis] object GuardNames {
  private val Most = 10000
  private val settled = ConcurrentHashMap.newKeySet[String]()

  def check(
      session: ClassicSession,
      plan: LogicalPlan,
      tables: Seq[String],
      asserted: Seq[String]
  ): Unit = {
    if (settled.size > Most) settled.clear()
    lazy val scanned = plan.collect { case DecidedScan(table, _) => table }
    tables.map(GuardedTable(_)).filter(t => !t.isEvery && !settled.contains(keyOf(t))).foreach {
      t =>
        settled.add(keyOf(t))
        if (!scanned.exists(t.names(session, _)))
          GuardedNames.problemOf(session, t).foreach { problem =>
            Warnings.once(
              s"guards:${keyOf(t)}",
              s"spark.tamis.requireFilter names '${t.written}', $problem"
            )
          }
    }
    asserted.filterNot(text => settled.contains(s"column $text")).foreach { text =>
      if (scanned.exists(hasColumns(session, text, _))) {
        settled.add(s"column $text")
        Warnings.resolved(s"guards:column $text")
      } else if (scanned.nonEmpty)
        Warnings.once(
          s"guards:column $text",
          s"spark.tamis.assertPruned names '$text', but the tables of this query " +
            s"(${scanned.map(_.name()).distinct.mkString(", ")}) do not have such columns. The " +
            "entry applies to queries over tables that do. Correct the name if it is misspelled."
        )
    }
  }

  private def keyOf(table: GuardedTable): String = s"table ${table.written}"

  private def hasColumns(session: ClassicSession, text: String, table: PlannedFiles): Boolean =
    PredicateParser.over(session, text, DataTypeUtils.toAttributes(table.schema)) !=
      PredicateParser.OfOtherColumns
}
