package io.tamis.rules.goals

import io.tamis.conf.TamisConf
import io.tamis.planning.{FileSelection, Question, ScanGoal, ScanPlanner}
import io.tamis.runtime.{KeyOrder, SampledBoundary}
import io.tamis.scan.TamisTable
import io.tamis.wire.{ExpressionWriter, GoalReader, Reason, Reasons, SampleGoal, TopKGoal}
import java.util.BitSet

import org.apache.spark.sql.catalyst.expressions.{
  Descending,
  Expression,
  IntegerLiteral,
  NullsFirst
}
import org.apache.spark.sql.catalyst.plans.logical.{LocalLimit, LogicalPlan}
import org.apache.spark.sql.internal.SQLConf

/** Confines the scan under ORDER BY with LIMIT to files that can hold one of the first rows.
  *
  * Spark puts a LocalLimit, with the OFFSET added, over the projections over a global Sort, also
  * below a window that only ranks. A scan that returns all of the first rows, and fewer of the
  * others, leads to the same result: among rows with equal keys Spark may choose any.
  *
  * Where statistics do not show enough, the rows of a sample do ([[TopKSample]]).
  */
object PruneForTopK extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean = TamisConf.topKEnabled(conf)

  override protected def rewritten(plan: LogicalPlan): LogicalPlan = plan.transformDown {
    case limit @ LocalLimit(IntegerLiteral(rows), SortedScan(sorted))
        if rows > 0 && sorted.table.purpose.goals.isEmpty =>
      val sample = new TopKSample(rows, sorted, limit)
      val sampleGoal = sample.goal
      // statistics of the scan do not show how many of its rows a join keeps
      if (sorted.isJoined && sampleGoal.isEmpty) limit
      else confined(limit, rows, sorted, sample, sampleGoal)
  }

  private def confined(
      plan: LogicalPlan,
      rows: Int,
      sorted: SortedScan,
      sample: TopKSample,
      sampleGoal: Option[SampleGoal]
  ): LogicalPlan = {
    val (order, table) = (sorted.order, sorted.table)
    val first = order.head
    val key = sorted.keys.head
    val writer = Question.writer(table)
    val further = order.zip(sorted.keys).take(sorted.comparable).drop(1).map { case (o, k) =>
      val of = KeyOrder.of(o)
      TopKGoal.Key(writer.write(k), of.descending, of.nullsFirst)
    }
    val goal = TopKGoal(
      rows.toLong,
      writer.write(key),
      first.direction == Descending,
      first.nullOrdering == NullsFirst,
      order.size == 1,
      further,
      order.size == further.size + 1,
      sampleGoal
    )
    val shown = ScanGoal.First(
      rows.toLong,
      ExpressionWriter.sqlOf(first.copy(child = key, sameOrderExpressions = Nil))
    )
    def scanned(
        files: Either[Reason, FileSelection],
        implied: Seq[Expression] = Nil,
        boundary: Option[SampledBoundary] = None
    ) = ScanBelow.replaced(plan, sorted.relation)(
      _.confined(shown, files).withImplied(implied).bounded(boundary)
    )
    ScanPlanner
      .ask(table, sorted.conjuncts, goal)
      .flatMap { goalAnswer =>
        val listing = goalAnswer.asked.listing
        GoalReader.first(goalAnswer.answer, listing.size, ScanBelow.byName(key), goal).map {
          found =>
            val kept = goalAnswer.answer.kept.clone().asInstanceOf[BitSet]
            kept.and(goalAnswer.asked.ordinals)
            (listing, kept.cardinality, found)
        }
      } match {
      // the files that statistics choose hold the first rows of the scan, not of the join
      case Right((_, _, found)) if sorted.isJoined && found.samples.isEmpty => plan
      case Right((listing, asked, found))                                   =>
        def selected(files: BitSet) = FileSelection.of(listing, files)
        val implied = found.until.toSeq.filterNot(isOnPartitions(_, table))
        val files = selected(found.files)
        if (found.samples.isEmpty || !sample.isFruitless(listing))
          scanned(Right(files), implied, sample.boundary(listing, found.samples.map(selected)))
        else if (sorted.isJoined || found.until.isEmpty && files.count == asked)
          scanned(Left(Reasons("TOPK_SAMPLE_TOO_SMALL", "rows" -> rows.toString)))
        else scanned(Right(files), implied)
      case Left(_) if sorted.isJoined => plan
      case Left(reason)               => scanned(Left(reason))
    }
  }

  /** Whether the expression has partition columns, which files do not contain. */
  private def isOnPartitions(e: Expression, table: TamisTable): Boolean = {
    val partitions = table.relation.partitionSchema.fieldNames.toSet
    e.references.exists(a => partitions(a.name))
  }
}
