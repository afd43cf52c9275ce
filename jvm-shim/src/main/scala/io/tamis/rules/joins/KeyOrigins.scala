package io.tamis.rules.joins

import io.tamis.planning.ScanPlanner
import io.tamis.rules.relations.ScanInPlan
import io.tamis.wire.{KeySource, Reason, TypeSets}
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{AttributeSeq, BindReferences, Expression, InSet}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}

/** Where the values of a join key come from: each value that is not NULL is one of `values`, or the
  * key of a row of one of the scans.
  */
final case class KeyOrigins(scans: Seq[KeySource], values: Seq[Any]) {

  def and(other: KeyOrigins): KeyOrigins =
    KeyOrigins(scans ++ other.scans, values ++ other.values)

  /** True for every row whose key is one of `values`; None if there are none. */
  def isValue(key: Expression): Option[Expression] =
    Option.when(values.nonEmpty)(InSet(key, values.toSet))
}

object KeyOrigins {

  /** Maximum number of rows of a VALUES list; longer ones are treated as data. */
  private val MostRows = 1000

  /** The origins of a key. Left(None): some of its values come neither from a scan of tamis nor
    * from a short VALUES list; Left(Some): why the planner cannot be asked about a scan.
    */
  def of(key: Expression, plan: LogicalPlan): Either[Option[Reason], KeyOrigins] = plan match {
    case ScanInPlan(scan) if KeyLineage.isKey(key) =>
      val source = ScanPlanner.keySource(scan.table, scan.conjuncts, key)
      source.map(s => KeyOrigins(Seq(s), Nil)).left.map(Some(_))
    case ScanInPlan(_)                                 => Left(None)
    case local: LocalRelation if KeyLineage.isKey(key) => ofRows(key, local)
    case _                                             =>
      val below = KeyLineage.step(key, plan).map { b =>
        of(b.key, plan.children(b.child)).map(_.and(KeyOrigins(Nil, b.added)))
      }
      below match {
        case Nil => Left(None)
        case all => all.reduce((a, b) => for { x <- a; y <- b } yield x.and(y))
      }
  }

  /** The values of a VALUES list, computed by Spark. FLOAT and DOUBLE are excluded, because NaN and
    * -0.0 are not compared here as joins compare them.
    */
  private def ofRows(key: Expression, local: LocalRelation): Either[Option[Reason], KeyOrigins] =
    if (TypeSets.isFloating(key.dataType) || local.data.size > MostRows) Left(None)
    else {
      val bound = BindReferences.bindReference(key, AttributeSeq(local.output))
      // a cast may fail on a row that a filter above removes, see KeyOrigins
      try Right(KeyOrigins(Nil, local.data.map(bound.eval).filter(_ != null).distinct))
      catch { case NonFatal(_) => Left(None) }
    }
}
