package io.tamis.rules.commands

import io.tamis.listing.Listing
import io.tamis.planning.{Decision, FileSelection, ScanPlanner, SwappedFiles}
import io.tamis.rules.joins.KeyLineage
import java.util.BitSet

import org.apache.spark.sql.catalyst.expressions._

/** What is true of every row of a plan that has an effect on what is above it.
  *
  * @param conjuncts
  *   predicates over its output
  * @param keys
  *   keys, each of which equals a key of the other side of a join
  * @param joined
  *   whether the plan is a side of a join
  */
private[commands] final case class NeededRows(
    conjuncts: Seq[Expression],
    keys: Seq[NeededKey],
    joined: Boolean
) {
  def isEmpty: Boolean = conjuncts.isEmpty && keys.isEmpty

  def and(others: Seq[Expression]): NeededRows = copy(conjuncts = conjuncts ++ others)

  /** The same of the rows below a projection. None if it depends on anything but the columns of a
    * row, such as the number of a row, which would change with the files that are read.
    */
  def below(list: Seq[NamedExpression]): Option[NeededRows] = {
    val made = list.collect { case a: Alias => a.exprId -> a.child }.toMap
    def replaced(e: Expression) =
      e.transform { case a: AttributeReference => made.getOrElse(a.exprId, a) }
    val moved = NeededRows(
      conjuncts.map(replaced),
      keys.map(k => NeededKey(replaced(k.key), k.source)).filter(k => KeyLineage.isKey(k.key)),
      joined
    )
    Some(moved).filter(_.conjuncts.forall(_.deterministic))
  }

  /** The decision about the files that may hold such rows; None: all of them are read. */
  def decide(files: SwappedFiles): Option[Decision] = {
    val confined = keys.foldLeft(files)((files, key) => key.confined(files, conjuncts))
    val decision = ScanPlanner.decide(confined, conjuncts)
    val (kept, listing) = (decision.kept, decision.kept.listing)
    if (kept.isAll && listing.isWholeTable) None
    // a listing without a file has none to choose: its other files are ruled out by their manifests
    else if (kept.count > 0 || !joined || listing.size == 0) Some(decision)
    else Some(decision.copy(kept = NeededRows.smallest(listing)))
  }
}

private object NeededRows {

  /** A side of a join is not left without a file. Adaptive execution removes a join with a side
    * that has no rows, and does not run the other side then, in which Delta counts the rows of the
    * source.
    */
  private def smallest(listing: Listing): FileSelection = {
    val only = new BitSet
    only.set(listing.files.indices.minBy(listing.files.bytes(_)))
    FileSelection.of(listing, only)
  }
}
