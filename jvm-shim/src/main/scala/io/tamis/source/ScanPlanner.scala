package io.tamis.source

import io.tamis.conf.TamisConf
import io.tamis.wire.ImpliedReader
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, PartitioningAwareFileIndex}
import org.apache.spark.sql.internal.SQLConf

/** Decides a scan: Spark's listing and partition pruning first, then the planner's answer on top.
  *
  * Whatever goes wrong with the planner, the decision is the one plain Spark would have made: the
  * partitions that match, every file in them, every other conjunct applied to the rows.
  */
object ScanPlanner {

  /** A scan without a filter: every file, and nobody asked. */
  def everything(table: TamisTable): Decision =
    Decision(Kept.all(listing(table, Nil)), Nil, None, None, 0.0, None)

  def decide(table: TamisTable, filters: Seq[Expression]): Decision = {
    val started = System.nanoTime()
    val partitionSchema = table.relation.partitionSchema
    val candidates = filters.filter(PartitionPredicate.isPartitionOnly(_, partitionSchema))
    val listed = listing(table, candidates)
    val onPartitions =
      PartitionPredicate.evaluable(candidates, partitionSchema, listed.groups.map(_.values))
    val passes = PartitionPredicate.of(onPartitions, partitionSchema)
    val matching =
      if (onPartitions.isEmpty) Kept.all(listed)
      else Kept.all(listed).whereGroup(listed.groups.map(g => passes(g.values)))

    def exactOnPartitions(e: Expression): Boolean = onPartitions.exists(_ eq e)
    def elapsed: Double = (System.nanoTime() - started) / 1e6

    def asSparkWould(why: String): Decision = {
      val conjuncts = filters.map(f =>
        Conjunct(f, if (exactOnPartitions(f)) "exact" else "unsupported", None, None)
      )
      Decision(matching, conjuncts, None, None, elapsed, Some(why))
    }

    new Question(table, listed, filters).ask() match {
      case Left(why)                                            => asSparkWould(why)
      case Right(_) if TamisConf.mode(SQLConf.get) == "observe" =>
        asSparkWould("spark.tamis.mode is observe")
      case Right(answer) =>
        val ranges = answer.rowGroups.fold(FileRanges.none)(FileRanges.of)
        val kept = Kept.of(listed, answer.kept, ranges)
        val conjuncts = filters.zip(answer.outcomes).map { case (f, outcome) =>
          Conjunct(
            f,
            if (exactOnPartitions(f)) "exact" else outcome.pushdown,
            if (exactOnPartitions(f)) None else outcome.reason,
            outcome.prunedFiles
          )
        }
        // exact was proven for every file that the answer keeps; a part of them keeps the proof, and loses the row count
        val both = if (matching.isAll) kept else kept.and(matching)
        both.directories // the list of files is made here, so that its cost is in the planning time
        Decision(
          both,
          conjuncts,
          answer.keptRecords.filter(_ => both.count == kept.count),
          answer.totalRecords,
          elapsed,
          None,
          ImpliedReader.ranges(answer.implied, filters).flatMap(_.conjuncts),
          answer.rowGroups.map(g =>
            RowGroupCounts(g.kept.filter(_ => both.count == kept.count), g.total)
          )
        )
    }
  }

  /** Spark's listing; a catalog table asks the metastore for the matching partitions only, as Spark
    * does.
    */
  private def listing(table: TamisTable, onPartitions: Seq[Expression]): Listing = {
    val schema = table.relation.partitionSchema
    table.relation.location match {
      case index: PartitioningAwareFileIndex => ListingCache.of(index, schema)
      case catalog: CatalogFileIndex         =>
        ListingCache.of(catalog.filterPartitions(onPartitions), schema)
      case other =>
        throw new IllegalStateException(s"a relation with ${other.getClass} is not eligible")
    }
  }
}
