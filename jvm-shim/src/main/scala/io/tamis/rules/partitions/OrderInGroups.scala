package io.tamis.rules.partitions

import io.tamis.listing.{GroupNumbers, Listing}
import io.tamis.planning.{FileOrder, FileSelection, Question, ScanPlanner, SortedColumn}
import io.tamis.rules.relations.FilteredRelation
import io.tamis.wire.{GoalReader, OrderGoal, Reason}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Descending, Expression, SortOrder}

/** Finds out whether the rows of each group of a scan are in the order that an operator needs. */
object OrderInGroups {

  /** The columns of a scan by which its rows have to be sorted.
    *
    * @param columns
    *   attributes of the relation, and whether each descends
    */
  final case class Wanted(scan: FilteredRelation, columns: Seq[(Attribute, Boolean)]) {
    def sorted: Seq[SortedColumn] = columns.map { case (a, isDescending) =>
      SortedColumn(a.name, isDescending)
    }
    def names: Seq[String] = sorted.map(_.text)
  }

  /** The order over columns of one scan; None if a key comes from elsewhere, or if it places NULL
    * as files are not sorted.
    *
    * @param origin
    *   the column of a scan whose values a key has
    */
  def wanted(
      order: Seq[SortOrder],
      origin: Expression => Option[ScanColumn]
  ): Option[Wanted] = {
    val found = order.map(o => origin(o.child).filter(_ => hasDefaultNulls(o)))
    found.headOption.flatten.filter(first => found.forall(_.exists(isOf(first)))).map { first =>
      // a key that occurs again decides nothing
      val columns = found.flatten.map(_.attribute).zip(order.map(_.direction == Descending))
      Wanted(first.scan, columns.distinctBy(_._1.exprId))
    }
  }

  private def isOf(first: ScanColumn)(other: ScanColumn): Boolean =
    first.scan.relation eq other.scan.relation

  private def hasDefaultNulls(o: SortOrder): Boolean =
    o.nullOrdering == o.direction.defaultNullOrdering

  /** The order of the rows of each group of these partition columns, or why it is not known.
    *
    * A group has a single value of each of its columns, so that these decide nothing at whatever
    * place they have in the order. The other columns have to be those of files, sorted by them.
    */
  def of(wanted: Wanted, groupedBy: Seq[String]): Either[Reason, FileOrder] = {
    val others = wanted.columns.filterNot { case (a, _) => groupedBy.contains(a.name) }
    if (others.isEmpty) Right(FileOrder(wanted.sorted, None, Map.empty))
    else {
      val scan = wanted.scan
      val keys = Question.writer(scan.table).writeAll(others.map(_._1))
      ScanPlanner
        .askOf(scan.table, scan.conjuncts) { listing =>
          OrderGoal(keys, others.map(_._2), groupNumbers(listing, groupedBy))
        }
        .flatMap { goal =>
          val listing = goal.asked.listing
          GoalReader.ordered(goal.answer, listing.size).map { case (files, places) =>
            FileOrder(wanted.sorted, Some(FileSelection.of(listing, files)), places)
          }
        }
    }
  }

  /** The number of the group of each directory of the listing. */
  private def groupNumbers(listing: Listing, groupedBy: Seq[String]): Seq[Int] = {
    val ordinals = groupedBy.map(listing.partitionSchema.fieldIndex)
    GroupNumbers.of(listing, ordinals, listing.groups.indices).ofDirectories
  }
}
