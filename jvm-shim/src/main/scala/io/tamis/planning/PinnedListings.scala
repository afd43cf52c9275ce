package io.tamis.planning

import io.tamis.listing.Listing

import org.apache.spark.sql.catalyst.expressions.Expression

/** The listings of a relation of a plan.
  *
  * All questions about the relation must be about the same files. If the keys of a join came from
  * an older listing than the one that is read, rows of a file that was added in between would find
  * no partner, because the files with their partners were ruled out: an outer join or NOT EXISTS
  * would then return rows that are right at no time.
  */
private[tamis] final class PinnedListings {
  private var pinned = Seq.empty[(Seq[Expression], Listing)]

  /** The listing for these filters over partition columns: the first one that contains it, or a new
    * one.
    */
  def of(filters: Seq[Expression])(list: => Listing): Listing = synchronized {
    def contains(filtersBefore: Seq[Expression]): Boolean =
      filtersBefore.forall(before => filters.exists(_.semanticEquals(before)))
    pinned.collectFirst { case (before, listing) if contains(before) => listing }.getOrElse {
      val listing = list
      pinned :+= filters -> listing
      listing
    }
  }
}
