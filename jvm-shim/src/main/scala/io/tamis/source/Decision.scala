package io.tamis.source

import io.tamis.wire.{ExpressionWriter, Reason}
import org.apache.spark.sql.catalyst.expressions.Expression

/** What was decided of one conjunct of the filter over a scan. */
final case class Conjunct(
    expression: Expression,
    pushdown: String,
    reason: Option[Reason],
    prunedFiles: Option[Long]
) {
  lazy val sql: String = ExpressionWriter.sqlOf(expression)
  def isExact: Boolean = pushdown == "exact"
}

/** Which files a scan reads and which conjuncts Spark still applies.
  *
  * @param kept
  *   the files that may hold a row for which every conjunct is true
  * @param conjuncts
  *   exact: true for every row of every kept file, so it leaves the plan
  * @param keptRecords
  *   rows in the kept files, where the statistics tell
  * @param fallback
  *   why the planner was not asked or its answer not used
  * @param implied
  *   ranges of columns that follow from the residual, with which row groups and pages are skipped
  */
final case class Decision(
    kept: Kept,
    conjuncts: Seq[Conjunct],
    keptRecords: Option[Long],
    totalRecords: Option[Long],
    planningMillis: Double,
    fallback: Option[String],
    implied: Seq[Expression] = Nil
) {
  def residual: Seq[Expression] = conjuncts.filterNot(_.isExact).map(_.expression)
  def exactSql: Seq[String] = conjuncts.filter(_.isExact).map(_.sql)
  def impliedSql: Seq[String] = implied.map(ExpressionWriter.sqlOf)
  def residualSql: Seq[String] = conjuncts.filterNot(_.isExact).map(_.sql)
}
