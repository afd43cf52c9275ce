package io.tamis.rules

import io.tamis.conf.TamisConf
import io.tamis.source._
import io.tamis.wire.{ExpressionWriter, Reason, Reasons}
import org.apache.spark.sql.catalyst.expressions.{
  And,
  EqualNullSafe,
  EqualTo,
  Expression,
  In,
  InSet,
  IsNaN,
  IsNull
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf

/** Relations that cannot become a table of tamis (bucketed ones, those whose `_metadata` is read,
  * ORC, CSV and JSON with an index) stay Spark's own, and list only the files that can hold a row
  * for which the filter right on them is true. Conjuncts that are true of every row of these leave
  * the filter.
  *
  * A filter drops every row of a file that is left out, so its result stays as it was. What Spark
  * knows of the relation holds for fewer files too: rows of a bucket lie in its files, and a bucket
  * without any has no rows; files that are sorted stay so; partition values belong to files.
  *
  * Ranges that the filter implies come by [[AddImpliedFilters]], as over any other source.
  */
object SwapFileIndex extends GoalRule {
  override val ruleName: String = "io.tamis.rules.SwapFileIndex"
  override protected def isOn(conf: SQLConf): Boolean = TamisConf.fileIndexSwapEnabled(conf)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan =
    if (Eligibility.isRowLevelWrite(plan)) plan
    else
      plan.transformDown { case filter @ Filter(condition, relation: LogicalRelation) =>
        decided(condition, relation).fold(_ => filter, swapped(condition, relation, _))
      }

  /** Why the file index of such a relation stays Spark's, for the person who asks.
    *
    * @param condition
    *   of the filter right on it, if there is one
    */
  def refusal(relation: LogicalRelation, condition: Option[Expression]): Option[Reason] =
    if (!isOn(SQLConf.get)) Some(Reasons("SWAP_IS_OFF"))
    else
      condition match {
        case None    => Some(Reasons("NO_FILTER"))
        case Some(c) => decided(c, relation).left.toOption.flatten
      }

  /** The decision of a scan that reads a swapped index. */
  def unapply(relation: HadoopFsRelation): Option[TamisFileIndex] = relation.location match {
    case index: TamisFileIndex => Some(index)
    case _                     => None
  }

  /** What to list; or why everything is. Left(None): it was decided before. */
  private def decided(
      condition: Expression,
      relation: LogicalRelation
  ): Either[Option[Reason], TamisFileIndex] = {
    val conjuncts = ExpressionWriter.conjuncts(condition)
    val told = conjuncts.filter(isTold)
    val before = Some(relation.relation).collect { case SwapFileIndex(index) => index }
    // rand(42) would give other numbers to the rows after one that is skipped
    if (!conjuncts.forall(_.deterministic)) Left(Some(Reasons("NO_FILTER")))
    else if (told.isEmpty) Left(Some(Reasons("FILTER_NOT_ABOUT_ROWS")))
    else
      before match {
        case Some(index) => decidedAgain(index, told)
        case None        =>
          Eligibility.swapRefusal(relation) match {
            case refused @ Some(_) => Left(refused)
            case None              =>
              val files = relation.relation.asInstanceOf[HadoopFsRelation]
              val asked = SwappedFiles(files.sparkSession, files, relation.catalogTable)
              ask(asked, told)
                .filterOrElse(
                  pays(files, _),
                  Some(Reasons("NOTHING_GAINED", "table" -> PlannedFiles.target(asked)))
                )
                .map(
                  new TamisFileIndex(asked, _)
                )
          }
      }
  }

  /** Spark optimizes subqueries, and then once more what becomes of them in the query: what was
    * true of every row that is kept still is, and may have been inferred anew.
    */
  private def decidedAgain(
      index: TamisFileIndex,
      told: Seq[Expression]
  ): Either[Option[Reason], TamisFileIndex] = {
    val before = index.decision
    def isAmong(known: Seq[Expression])(e: Expression) = known.exists(_.semanticEquals(e))
    val exact = before.conjuncts.filter(_.isExact)
    val (proven, rest) = told.partition(isAmong(exact.map(_.expression)))
    val again = proven.map(Conjunct(_, "exact", None, None))
    val known = before.conjuncts.map(_.expression) ++ before.implied
    if (rest.forall(isAmong(known)))
      if (proven.isEmpty) Left(None)
      else {
        val others = before.conjuncts.filterNot(c => proven.exists(_.semanticEquals(c.expression)))
        Right(new TamisFileIndex(index.files, before.copy(conjuncts = again ++ others)))
      }
    else
      ask(index.files.within(index.kept), rest).map { found =>
        val gone = exact.filterNot(c => proven.exists(_.semanticEquals(c.expression)))
        val together = found.copy(
          conjuncts = gone ++ again ++ found.conjuncts,
          totalRecords = before.totalRecords,
          planningMillis = before.planningMillis + found.planningMillis
        )
        new TamisFileIndex(index.files, together)
      }
  }

  private def ask(files: SwappedFiles, told: Seq[Expression]): Either[Option[Reason], Decision] = {
    val decision = ScanPlanner.decide(files, told)
    decision.fallbackReason match {
      case None =>
        Right(decision.copy(conjuncts = decision.conjuncts.map(keptForBuckets(_, files.relation))))
      case failed => Left(failed)
    }
  }

  /** Most relations of other formats have no index: of these Spark finds the partitions itself. */
  private def pays(files: HadoopFsRelation, found: Decision): Boolean =
    FileFormats.isParquet(files) || !found.kept.isAll || found.conjuncts.exists { c =>
      c.isExact && !PartitionPredicate.isPartitionOnly(c.expression, files.partitionSchema)
    }

  /** Part of the filter that statistics may speak of: no subquery, and nothing of `_metadata`. */
  private def isTold(conjunct: Expression): Boolean =
    PlainConjuncts.isPlain(conjunct) && !conjunct.references.exists(Eligibility.isMetadata)

  /** Spark skips buckets by what equals the bucket column. If rows lie in other buckets than
    * theirs, as in files that were written with another number of buckets, a query finds none of
    * them: so these conjuncts stay, and Spark with them skips what it would skip without tamis.
    */
  private def keptForBuckets(c: Conjunct, files: HadoopFsRelation): Conjunct = {
    val column = files.bucketSpec.map(_.bucketColumnNames).filter(_.size == 1).map(_.head)
    val choosesBuckets = c.expression.exists {
      case e @ (_: EqualTo | _: EqualNullSafe | _: In | _: InSet | _: IsNull | _: IsNaN) =>
        e.references.exists(a => column.exists(_.equalsIgnoreCase(a.name)))
      case _ => false
    }
    if (c.isExact && choosesBuckets)
      c.copy(pushdown = "inexact", reason = Some(Reasons("CHOOSES_BUCKETS")))
    else c
  }

  private def swapped(
      condition: Expression,
      relation: LogicalRelation,
      index: TamisFileIndex
  ): LogicalPlan = {
    val exact = index.decision.conjuncts.filter(_.isExact).map(_.expression)
    val (gone, left) = ExpressionWriter.conjuncts(condition).partition(c => exact.exists(_ eq c))
    val listing = SwappedRelation.of(relation, index)
    if (gone.isEmpty) Filter(condition, listing)
    else left.reduceLeftOption(And(_, _)).fold[LogicalPlan](listing)(Filter(_, listing))
  }
}
