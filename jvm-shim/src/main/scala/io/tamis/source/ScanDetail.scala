package io.tamis.source

import io.tamis.wire.{PlanAnswer, Reason}

/** What can be found out about a decision for whoever asks, of all the files of the table.
  *
  * A catalog table lists only the partitions that match; here it lists all of them.
  */
final class ScanDetail(table: PlannedFiles, decision: Decision) {
  val listing: Listing = ScanPlanner.everything(table).kept.listing

  private val question = new Question(
    table,
    listing,
    decision.conjuncts.map(_.expression),
    detail = true,
    wholeFiles = table.wholeFiles
  )

  /** What each conjunct rules out, on its own and beyond those before it. */
  def effects(): Either[Reason, PlanAnswer] = question.ask()

  /** What statistics say of each file of the listing. */
  def evidence(): Either[Reason, Seq[Evidence]] = question.evidence()

  /** Which files of the listing the decision keeps. */
  lazy val isKept: Int => Boolean = {
    val kept = decision.kept
    if ((kept.listing eq listing) || kept.listing.fingerprint == listing.fingerprint) kept.contains
    else {
      val uris = kept.files.map(Listing.uriOf).toSet
      i => uris(Listing.uriOf(listing.files(i)))
    }
  }

  /** What left each file out, which the decision does not keep, where no statistics did: in SQL, or
    * as the goal is called.
    *
    * @param found
    *   what statistics say of the file, where somebody could be asked
    */
  def decidedBy(file: Int, found: Option[Evidence]): Option[String] = {
    val alone = (found.flatMap(_.ruledOut) ++ ofPartitions(listing.groupOf(file))).minOption
    def together = found.flatMap(_.together).map(upTo)
    alone.map(i => if (i < 0) "it holds no row" else decision.conjuncts(i).sql).orElse(together)
  }.orElse(if (isKept(file)) None else Some(ofPlan(file)))

  private def upTo(conjunct: Int): String =
    decision.conjuncts.take(conjunct + 1).map(_.sql).mkString(" AND ")

  /** Of each group the first conjunct that its partition values do not pass. */
  private lazy val ofPartitions: Int => Option[Int] = {
    val schema = table.relation.partitionSchema
    val groups = listing.groups.map(_.values)
    val tests = decision.conjuncts.map(_.expression).zipWithIndex.flatMap { case (e, i) =>
      val isEvaluable = PartitionPredicate.isPartitionOnly(e, schema) &&
        PartitionPredicate.evaluable(Seq(e), schema, groups).nonEmpty
      Option.when(isEvaluable)(i -> PartitionPredicate.of(Seq(e), schema))
    }
    val first = groups.map(g => tests.collectFirst { case (i, passes) if !passes(g) => i })
    first(_)
  }

  /** Row groups are looked at once the files are chosen; goals choose before that. */
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
