package io.tamis.rules.goals

import io.tamis.rules.joins.KeyLineage
import io.tamis.rules.relations.FilteredRelation
import io.tamis.scan.TamisTable
import io.tamis.wire.TypeSets
import org.apache.spark.sql.catalyst.expressions.{Expression, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project, Sort}

/** A global Sort, and the scan that its first key comes from.
  *
  * @param order
  *   the keys, over the output of `below`
  * @param below
  *   the plan below the Sort
  * @param keys
  *   the first keys, over the attributes of the relation, up to the first that does not come from
  *   this scan
  * @param isJoined
  *   whether joins or other filters lie between the Sort and the filter of the scan
  */
final case class SortedScan(
    order: Seq[SortOrder],
    below: LogicalPlan,
    relation: LogicalPlan,
    table: TamisTable,
    conjuncts: Seq[Expression],
    keys: Seq[Expression],
    isJoined: Boolean
) {

  /** The number of keys that bounds can compare, from the first one. */
  val comparable: Int = keys
    .zip(order)
    .takeWhile { case (key, o) =>
      KeyLineage.isKey(key) && TypeSets.isOrderedInPython(o.dataType)
    }
    .size
}

object SortedScan {

  /** A global Sort over a scan, under projections.
    *
    * Matched by type and accessors, because the constructor of Sort has another argument since 4.0
    * (checked on 4.0 to 4.3).
    */
  def unapply(plan: LogicalPlan): Option[SortedScan] = plan match {
    case p: Project if p.projectList.forall(_.deterministic) => unapply(p.child)
    case s: Sort if s.global && s.order.nonEmpty             =>
      s.child match {
        case ScanBelow(scan) =>
          val keys = s.order.map(o => scan.atScan(o.child))
          val (relation, table) = (scan.relation, scan.table)
          Some(
            SortedScan(s.order, s.child, relation, table, scan.conjuncts, keys, isJoined = false)
          )
        case below => joined(s.order, below)
      }
    case _ => None
  }

  private def joined(order: Seq[SortOrder], below: LogicalPlan): Option[SortedScan] =
    origin(order.head.child, below).map { case (first, scan) =>
      val others = order.tail.map(o => origin(o.child, below))
      val keys = others.takeWhile(_.exists(_._2.relation eq scan.relation)).flatten.map(_._1)
      SortedScan(
        order,
        below,
        scan.relation,
        scan.table,
        scan.conjuncts,
        first +: keys,
        isJoined = true
      )
    }

  /** The key over the one scan that it comes from. Every node on the way passes on each row of that
    * scan, or the rows that it is joined into, by themselves: what the plan returns for some rows
    * of the scan is part of what it returns for all of them, and the rows of the scan that are left
    * out are exactly the ones that are missing above.
    */
  private def origin(key: Expression, plan: LogicalPlan): Option[(Expression, FilteredRelation)] =
    plan match {
      case FilteredRelation(scan)           => Some(key -> scan)
      case _: Project | _: Filter | _: Join =>
        KeyLineage.step(key, plan) match {
          // an outer join that adds rows with NULLs keeps all rows of its other side
          case Seq(step) if step.mayLose && step.added.isEmpty =>
            origin(step.key, plan.children(step.child))
          case _ => None
        }
      case _ => None
    }
}
