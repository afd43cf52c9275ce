package io.tamis.rules.relations

import io.tamis.conf.TamisConf
import io.tamis.formats.FormatFailure
import io.tamis.formats.delta.DeltaFiles
import io.tamis.listing.{FileFormats, PartitionPredicate}
import io.tamis.planning.{Conjunct, Decision, LeftInPlan, PlannedFiles, ScanPlanner, SwappedFiles}
import io.tamis.rules.filters.PlainConjuncts
import io.tamis.rules.goals.GoalRule
import io.tamis.scan.TamisFileIndex
import io.tamis.wire.{ExpressionWriter, Pushdown, Reason, Reasons}
import org.apache.spark.sql.catalyst.expressions.{
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

/** Swaps the file index of relations that cannot become a table of tamis (bucketed ones, those
  * whose `_metadata` is read, ORC, CSV and JSON with an index). They stay Spark's own, but list
  * only the files that can hold a row for which the filter directly on them is true. Conjuncts that
  * are true for every row of these files leave the filter.
  *
  * A filter drops every row of a file that is left out, so its result stays the same. What Spark
  * knows about the relation also holds for fewer files: rows of a bucket lie in its files, and a
  * bucket without files has no rows; sorted files stay sorted; partition values belong to files.
  *
  * [[AddImpliedFilters]] adds the ranges that the filter implies, as over any other source.
  */
object SwapFileIndex extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean = TamisConf.fileIndexSwapEnabled(conf)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan =
    if (Eligibility.isRowLevelWrite(plan)) plan
    else
      // Delta chooses the files of subqueries only when it sees the whole query
      plan.transformDownWithSubqueries { case filter @ Filter(condition, r: LogicalRelation) =>
        FormatFailure.kept[LogicalPlan](filter) {
          decided(condition, r).fold(_ => filter, swapped(condition, r, _))
        }
      }

  /** Why the file index of such a relation stays Spark's, for explanations.
    *
    * @param condition
    *   the condition of the filter directly on it, if there is one
    */
  def refusal(relation: LogicalRelation, condition: Option[Expression]): Option[Reason] =
    if (!isOn(SQLConf.get)) Some(Reasons("FILE_INDEX_SWAP_IS_OFF"))
    else
      condition match {
        case None    => Some(Reasons("NO_FILTER"))
        case Some(c) => decided(c, relation).left.toOption.flatten
      }

  /** The index of tamis in a relation whose index was swapped. */
  def unapply(relation: HadoopFsRelation): Option[TamisFileIndex] =
    Some(relation.location).collect { case index: TamisFileIndex => index }

  /** The index to swap in, or why all files are listed. Left(None): nothing is left to decide after
    * an earlier decision.
    */
  private def decided(
      condition: Expression,
      relation: LogicalRelation
  ): Either[Option[Reason], TamisFileIndex] = {
    val conjuncts = ExpressionWriter.conjuncts(condition)
    val usable = conjuncts.filter(isUsable)
    val before = Some(relation.relation).collect { case SwapFileIndex(index) => index }
    // rand(42) would give other numbers to the rows after one that is skipped
    if (!conjuncts.forall(_.deterministic)) Left(Some(Reasons("NO_FILTER")))
    else if (usable.isEmpty) Left(Some(Reasons("FILTER_WITHOUT_FILE_COLUMNS")))
    else
      before match {
        case Some(index) => decidedAgain(index, usable)
        case None        =>
          Eligibility.swapRefusal(relation) match {
            case refused @ Some(_) => Left(refused)
            case None              =>
              val files = relation.relation.asInstanceOf[HadoopFsRelation]
              val listed = files match {
                case DeltaFiles(delta) => delta.recorded
                case _                 => files
              }
              val swappable = SwappedFiles(files.sparkSession, listed, relation.catalogTable)
              ask(swappable, usable)
                .filterOrElse(pays(files, _), Some(nothingGained(swappable)))
                .map(
                  new TamisFileIndex(swappable, _)
                )
          }
      }
  }

  /** Spark optimizes subqueries, and then again what they become in the query. What was true for
    * every row that is kept still is, and Spark may have inferred it again.
    */
  private def decidedAgain(
      index: TamisFileIndex,
      usable: Seq[Expression]
  ): Either[Option[Reason], TamisFileIndex] = {
    val before = index.decision
    def isAmong(known: Seq[Expression])(e: Expression) = known.exists(_.semanticEquals(e))
    val exact = before.conjuncts.filter(_.isExact)
    val (proven, rest) = usable.partition(isAmong(exact.map(_.expression)))
    val again = proven.map(Conjunct(_, Pushdown.Exact, None, None))
    val known = before.conjuncts.map(_.expression) ++ before.implied
    if (rest.forall(isAmong(known)))
      if (proven.isEmpty) Left(None)
      else {
        val others = before.conjuncts.filterNot(c => proven.exists(_.semanticEquals(c.expression)))
        Right(new TamisFileIndex(index.files, before.copy(conjuncts = again ++ others)))
      }
    else
      ask(index.files.within(index.kept), rest).map { decision =>
        val gone = exact.filterNot(c => proven.exists(_.semanticEquals(c.expression)))
        val together = decision.copy(
          conjuncts = gone ++ again ++ decision.conjuncts,
          totalRecords = before.totalRecords,
          planningMillis = before.planningMillis + decision.planningMillis
        )
        new TamisFileIndex(index.files, together)
      }
  }

  private def ask(
      files: SwappedFiles,
      usable: Seq[Expression]
  ): Either[Option[Reason], Decision] = {
    val decision = ScanPlanner.decide(files, usable)
    def forBuckets(d: Decision) =
      d.copy(conjuncts = d.conjuncts.map(keptForBuckets(_, files.relation)))
    decision.fallbackReason match {
      case failed @ Some(_) if !decision.isObserved => Left(failed)
      case _ => Right(forBuckets(decision).copy(observed = decision.observed.map(forBuckets)))
    }
  }

  private def nothingGained(files: SwappedFiles): Reason =
    TamisConf.indexOff(SQLConf.get) match {
      case Some(by) => Reasons("TAMIS_IS_OFF", "key" -> by.key, "value" -> by.value, "on" -> by.on)
      case None     => Reasons("NOTHING_GAINED", "table" -> PlannedFiles.target(files))
    }

  /** Most relations of other formats have no index: Spark itself finds their partitions. */
  private def pays(files: HadoopFsRelation, decision: Decision): Boolean =
    FileFormats.isParquet(files) || !decision.shown.kept.isAll || decision.shown.conjuncts.exists {
      c =>
        c.isExact && !PartitionPredicate.isPartitionOnly(c.expression, files.partitionSchema)
    }

  /** Whether statistics can apply to a conjunct: it has no subquery, and does not refer to
    * `_metadata`.
    */
  private def isUsable(conjunct: Expression): Boolean =
    PlainConjuncts.isPlain(conjunct) && !conjunct.references.exists(a =>
      Eligibility.isMetadata(a) || a.name.startsWith(DeltaFiles.InternalColumn)
    )

  /** Spark skips buckets by equality with the bucket column. If rows lie in other buckets than
    * their own, as in files that were written with another number of buckets, a query does not find
    * them. So these conjuncts stay, and Spark skips the same buckets as without tamis.
    */
  private def keptForBuckets(c: Conjunct, files: HadoopFsRelation): Conjunct = {
    val column = files.bucketSpec.map(_.bucketColumnNames).filter(_.size == 1).map(_.head)
    val choosesBuckets = c.expression.exists {
      case e @ (_: EqualTo | _: EqualNullSafe | _: In | _: InSet | _: IsNull | _: IsNaN) =>
        e.references.exists(a => column.exists(_.equalsIgnoreCase(a.name)))
      case _ => false
    }
    if (c.isExact && choosesBuckets) c.leftInPlan(LeftInPlan.NeededForBuckets) else c
  }

  private def swapped(
      condition: Expression,
      relation: LogicalRelation,
      index: TamisFileIndex
  ): LogicalPlan = {
    val exact = index.decision.conjuncts.filter(_.isExact).map(_.expression)
    val (gone, left) = ExpressionWriter.conjuncts(condition).partition(c => exact.exists(_ eq c))
    val whole = relation.relation match {
      case DeltaFiles(delta) => delta.withoutDeletedRows(relation).getOrElse(relation)
      case _                 => relation
    }
    val listing = whole.transform { case scanned: LogicalRelation =>
      SwappedRelation.of(scanned, index)
    }
    if (gone.isEmpty) Filter(condition, listing)
    else PlainConjuncts.filtered(left, listing)
  }
}
