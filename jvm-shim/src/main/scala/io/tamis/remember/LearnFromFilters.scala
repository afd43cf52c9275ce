package io.tamis.remember

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.listing.FileOptions
import io.tamis.planning.Question
import io.tamis.remote.ExecutorJar
import io.tamis.rules.goals.NeverFails
import io.tamis.scan.{ParquetReader, TamisScan, TamisScanExec}
import io.tamis.wire.ExpressionWriter

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{ColumnarRule, FilterExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** Lets scans note in which of their files no row, or every row, passes the filter directly above
  * them.
  *
  * It sees every physical plan before columns become rows, with adaptive execution each stage.
  * Nothing is learnt from a scan
  *
  *   - whose conjuncts do not all have keys ([[PredicateKeys]]);
  *   - that skips rows for another reason than its filter: run-time filters, and ranges that a
  *     top-k or a join has added;
  *   - that may lose files, if Spark is to ignore those that are missing or corrupt;
  *   - of a table format whose reader drops deleted rows: time travel brings them back;
  *   - in a session whose plans other extensions run, on other kinds of nodes;
  *   - where executors lack the jar of tamis.
  */
object LearnFromFilters extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = Learn

  private object Learn extends NeverFails[SparkPlan] {
    override val ruleName: String = "io.tamis.rules.LearnFromFilters"

    override protected def isAsked: Boolean =
      TamisConf.mode(conf) == Mode.Apply && TamisConf.rememberEnabled(conf)

    override protected def rewritten(plan: SparkPlan): SparkPlan = plan.transformUp {
      case filter @ FilterExec(_, TamisScanExec(exec, scan)) if isSuitable(exec, scan) =>
        val noting = for {
          (set, filtered) <- predicates(scan, ExpressionWriter.conjuncts(filter.condition))
          tasks <- Splits.of(exec.inputPartitions)
        } yield {
          val context = scan.table.session.sparkContext
          val columns = notedColumns(scan, filter.output)
          val documents = columns.map(Question.writer(scan.table).write)
          val decision = scan.decision
          val learner =
            Learner.start(context, scan.table, decision, set, filtered, tasks, documents)
          NoteHitsExec(filter.copy(child = learning(exec, scan, learner)), learner, columns)
        }
        noting.getOrElse(filter)
    }
  }

  private def isSuitable(exec: BatchScanExec, scan: TamisScan): Boolean = {
    val table = scan.table
    scan.learner.isEmpty && (table.reader eq ParquetReader) && exec.runtimeFilters.isEmpty &&
    table.purpose.implied.isEmpty && table.purpose.boundary.isEmpty && scan.decision.fallbackReason.isEmpty &&
    scan.decision.kept.count <= MostFiles && !new FileOptions(table).mayLoseFiles &&
    isOnlySpark(table.session) && ExecutorJar.isThere(table.session.sparkContext)
  }

  /** Beyond this, the outcomes would take too much memory of the driver. */
  private val MostFiles = 200000

  private def isOnlySpark(session: org.apache.spark.sql.SparkSession): Boolean = session match {
    case classic: SparkSession =>
      classic.sessionState.columnarRules.forall(rule =>
        Known.exists(rule.getClass.getName.startsWith)
      )
    case _ => false
  }
  private val Known = Seq("io.tamis.", "io.delta.", "org.apache.iceberg.")

  /** The conjuncts of the scan and its filter, and those of the filter alone: a conjunct that only
    * the scan has is not known to be true for the rows that pass. None if one of them has no key.
    */
  private def predicates(
      scan: TamisScan,
      filter: Seq[Expression]
  ): Option[(PredicateSet, PredicateSet)] = {
    val before = ofScan(scan)
    val all = before ++ filter
    val keys = PredicateKeys.of(scan.table, all)
    Option.when(filter.nonEmpty && keys.forall(_.isDefined)) {
      val reading = PredicateKeys.reading(scan.table)
      val each = keys.flatten.zip(all.map(PredicateKeys.sqlOf))
      def set(some: Seq[(String, String)]) = {
        val (distinct, sql) = some.distinctBy(_._1).unzip
        PredicateSet(reading, distinct, sql)
      }
      (set(each), set(each.drop(before.size)))
    }
  }

  /** The conjuncts by which the scan or its reader may skip rows of a file that it reads. One that
    * is exact is true for every row of a file that is read whole, and so drops none of them. Of a
    * file that is read in part, it is true for the row groups that are read. One over partition
    * columns has one value for all rows of a file, so it is true for those that are not read as
    * well.
    */
  private def ofScan(scan: TamisScan): Seq[Expression] = {
    val decision = scan.decision
    val isPartition = PredicateKeys.partitionColumns(scan.table)
    def isOfDirectory(e: Expression) = e.references.nonEmpty && e.references.forall(isPartition)
    if (decision.kept.ranges.isEmpty) decision.residual
    else
      decision.conjuncts.filterNot(c => c.isExact && isOfDirectory(c.expression)).map(_.expression)
  }

  /** The columns whose values are noted in the rows that pass: the first ones of the table that the
    * scan reads anyway. Which of them cluster the rows is seen when the values are stored.
    */
  private def notedColumns(scan: TamisScan, output: Seq[Attribute]): Seq[Attribute] = {
    val isPartition = PredicateKeys.partitionColumns(scan.table)
    val places = scan.table.relation.dataSchema.fieldNames.zipWithIndex.toMap
    output
      .filter(a =>
        places.contains(a.name) && !isPartition(a) && PassingValues.isOrdered(a.dataType)
      )
      .sortBy(a => places(a.name))
      .take(MostColumns)
  }

  private val MostColumns = 4

  /** By reflection: the parameters of the constructor depend on the version of Spark. */
  private def learning(exec: BatchScanExec, scan: TamisScan, learner: Learner): SparkPlan =
    exec.makeCopy(exec.productIterator.map {
      case own: Scan if own eq scan => scan.learning(learner)
      case other                    => other.asInstanceOf[AnyRef]
    }.toArray)
}
