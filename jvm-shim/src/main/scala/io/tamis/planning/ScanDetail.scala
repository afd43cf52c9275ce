package io.tamis.planning

import io.tamis.listing.{Listing, PartitionPredicate}
import io.tamis.wire.{PlanAnswer, Reason}

/** Further details about a decision, over all files of the table. Computed only on request.
  *
  * A scan of a catalog table lists only the partitions that match, and one of Iceberg only the
  * manifests that may; this class lists all of them.
  */
final class ScanDetail(table: PlannedFiles, decision: Decision) {
  private val whole = table.whole
  val listing: Listing = ScanPlanner.wholeListing(whole)

  private val question = new Question(
    whole,
    listing,
    decision.conjuncts.map(_.expression),
    detail = true,
    wholeFiles = table.wholeFiles
  )

  /** What each conjunct rules out, on its own and beyond the conjuncts before it. */
  def effects(): Either[Reason, PlanAnswer] = question.ask()

  /** What statistics prove about each file of the listing. */
  def evidence(): Either[Reason, Seq[Evidence]] = question.evidence()

  /** Whether the decision keeps a file of the listing. */
  lazy val isKept: Int => Boolean = {
    val kept = decision.kept
    if ((kept.listing eq listing) || kept.listing.fingerprint == listing.fingerprint) kept.contains
    else {
      val uris = kept.files.map(Listing.uriOf).toSet
      i => uris(listing.files.uri(i))
    }
  }

  /** What ruled out a file of the listing, as SQL or as the text of a goal; None if the decision
    * keeps the file and no conjunct rules it out.
    *
    * @param known
    *   what statistics prove about the file, if known
    */
  def decidedBy(file: Int, known: Option[Evidence]): Option[String] = {
    val alone = (known.flatMap(_.ruledOut) ++ ofPartitions(listing.groupOf(file))).minOption
    def together = known.flatMap(_.together).map(upTo)
    alone
      .map(i => if (i < 0) "the file has no rows" else decision.conjuncts(i).sql)
      .orElse(together)
      .orElse(known.filter(_.isRemembered).map(_ => "an earlier scan found no row that passes"))
  }.orElse(if (isKept(file)) None else Some(ofPlan(file)))

  private def upTo(conjunct: Int): String =
    decision.conjuncts.take(conjunct + 1).map(_.sql).mkString(" AND ")

  /** For each group, the first conjunct that its partition values do not satisfy. */
  private lazy val ofPartitions: Int => Option[Int] = {
    val schema = table.relation.partitionSchema
    val groups = listing.groups.map(_.values)
    val tests = decision.conjuncts.map(_.expression).zipWithIndex.flatMap { case (e, i) =>
      PartitionPredicate.impliedBy(e, schema).flatMap { predicate =>
        PartitionPredicate.onEach(predicate, schema, groups).map(i -> _)
      }
    }
    val first =
      groups.indices.map(g => tests.collectFirst { case (i, passes) if !passes(g) => i })
    first(_)
  }

  /** What ruled out a file that no statistics rule out. Row groups are considered after the files
    * are chosen; goals choose before that.
    */
  private def ofPlan(file: Int): String = {
    val goals = table.purpose.goals.filter(_.reason.isEmpty).map(_.text)
    val within = table.purpose.within
    val isWithin = within.forall(w => !(w.listing eq listing) || w.contains(file))
    if (!isWithin || decision.rowGroups.isEmpty && goals.nonEmpty)
      if (goals.isEmpty) "another scan of the query reads it" else goals.mkString("; ")
    else if (decision.rowGroups.isDefined) "none of its row groups can hold a row that passes"
    else upTo(decision.conjuncts.size - 1)
  }
}
