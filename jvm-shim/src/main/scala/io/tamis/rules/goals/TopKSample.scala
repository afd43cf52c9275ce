package io.tamis.rules.goals

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.listing.Listing
import io.tamis.planning.{FileSelection, ScanGoal, ScanPlanner}
import io.tamis.rules.joins.RuntimeKeys
import io.tamis.runtime.{FirstRows, FruitlessSamples, KeyOrder, SampledBoundary}
import io.tamis.scan.TamisTable
import io.tamis.wire.{ExpressionWriter, SampleGoal}
import org.apache.spark.sql.catalyst.dsl.plans._
import org.apache.spark.sql.catalyst.expressions.{Right => _, _}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.internal.SQLConf

/** Reads a few promising files first, so that the rows found there rule out other files of the scan
  * under ORDER BY with LIMIT n when the query runs.
  *
  * A sample is the plan below the Sort over some of the files; it gives the keys T of its n-th row,
  * and nothing if it has fewer rows. These n rows are rows of the query, too, because the plan
  * below treats each row of the scan by itself ([[SortedScan]]), and both read the same files of
  * one listing. So the n-th row of the query is at or before T, and a row of the scan that is
  * strictly after T is not among the first n. Rows at T stay, because ORDER BY may have more keys.
  *
  * If the sample has fewer than n rows, a larger one is read ([[SampledBoundary]]).
  */
final class TopKSample(rows: Int, sorted: SortedScan, plan: LogicalPlan) {
  import sorted.{below, conjuncts, order, relation, table}

  private val orders = order.take(sorted.comparable)
  private val keys = sorted.keys.take(sorted.comparable)
  private val orderText = orders
    .zip(keys)
    .map { case (o, key) =>
      ExpressionWriter.sqlOf(o.copy(child = key, sameOrderExpressions = Nil))
    }
    .mkString(", ")

  /** If no row with NULL passes the filter, it does not matter where NULL is, and files with NULLs
    * are not needed for them.
    */
  private val places = orders.zip(keys).map { case (o, key) =>
    val passesNull = key.nullable && !conjuncts.exists {
      case IsNotNull(e) => e.semanticEquals(key)
      case _            => false
    }
    val order = KeyOrder.of(o)
    order.copy(nullsFirst = order.nullsFirst && passesNull)
  }

  private val sampleGoal = ScanGoal.Sample(s"the first $rows by $orderText")

  /** What the planner has to know to choose samples; None: the query cannot read any. */
  def goal: Option[SampleGoal] = Option.when(isPossible) {
    SampleGoal(
      TopKSample.types(relation.output.filter(isNeeded)),
      TopKSample.types(relation.output.filter(isSampled)),
      TamisConf.topKSampleMinSavedMs(SQLConf.get),
      sorted.isJoined
    )
  }

  private def isPossible: Boolean =
    keys.nonEmpty && rows <= TopKSample.MostRows && TopKSample.isPossible(
      below,
      table,
      conjuncts
    ) &&
      isCheap

  /** Whether everything that a join reads besides the scan is small: a sample reads it once more.
    */
  private def isCheap: Boolean = !sorted.isJoined || {
    val others = below.collectLeaves().filterNot(_ eq relation).map(RuntimeKeys.bytesOf)
    val limit = SQLConf.get.autoBroadcastJoinThreshold
    others.forall(_.isDefined) && others.flatten.sum <= limit
  }

  private def isNeeded(a: Attribute): Boolean =
    plan.outputSet.contains(a) || plan.exists(_.references.contains(a))

  private def isSampled(a: Attribute): Boolean =
    (conjuncts ++ keys).exists(_.references.contains(a))

  /** Finds the values that bound the rows of the result, when the query runs; None: there are no
    * samples.
    */
  def boundary(listing: Listing, samples: Seq[FileSelection]): Option[SampledBoundary] =
    Option.when(samples.nonEmpty) {
      val text = s"(among the first $rows by $orderText, known from a sample)"
      new SampledBoundary(
        table.session,
        FirstRows(keys.map(ScanBelow.byName), places),
        samples.map(lastKeys),
        text,
        nameIn(listing)
      )
    }

  /** Whether an earlier query has found too few rows in samples of the same files. */
  def isFruitless(listing: Listing): Boolean = FruitlessSamples.contains(nameIn(listing))

  private def nameIn(listing: Listing): String =
    (Seq(listing.fingerprint, s"$rows", orderText) ++ conjuncts.map(ExpressionWriter.sqlOf) ++
      (if (sorted.isJoined) Seq(below.canonicalized.hashCode.toString) else Nil)).mkString("; ")

  /** The keys of the n-th row of a sample. */
  private def lastKeys(files: FileSelection): LogicalPlan = {
    val sample = ScanBelow.replaced(below, relation)(_.confined(sampleGoal, Right(files)))
    val named = orders.zipWithIndex.map { case (o, i) => Alias(o.child, s"k$i")() }
    val first = Project(named, sample).orderBy(orders.zip(named).map { case (o, column) =>
      o.copy(child = column.toAttribute, sameOrderExpressions = Nil)
    }: _*)
    (if (rows > 1) first.offset(Literal(rows - 1)) else first).limit(Literal(1))
  }
}

object TopKSample {

  /** For more rows, sorting a sample takes longer than most scans. */
  private val MostRows = 10000

  /** Whether some files of a scan may be read first, with what is above them.
    *
    * @param below
    *   contains the scan, and is evaluated for the sample and for the query
    */
  def isPossible(below: LogicalPlan, table: TamisTable, conjuncts: Seq[Expression]): Boolean = {
    val conf = SQLConf.get
    TamisConf.topKSampleEnabled(conf) && TamisConf.runtimeFiltersEnabled(conf) &&
    TamisConf.mode(conf) == Mode.Apply && !below.isStreaming && !table.purpose.inRecursion &&
    RuntimeKeys.isRepeatable(below) && ScanPlanner.hasChoice(table, conjuncts)
  }

  /** Types of columns, as messages spell them. */
  def types(columns: Seq[Attribute]): Seq[String] =
    columns.map(a => ExpressionWriter.typeName(a.dataType))
}
