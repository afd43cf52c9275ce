package io.tamis.rules.joins

import io.tamis.planning.{Question, ScanPlanner}
import io.tamis.rules.relations.ScanInPlan
import io.tamis.wire.{GoalReader, KeyRangeGoal, Reason, TypeSets}
import org.apache.spark.sql.catalyst.expressions.{
  And,
  AttributeSeq,
  BindReferences,
  Expression,
  GreaterThanOrEqual,
  InSet,
  LessThanOrEqual,
  Literal,
  Or
}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.types.DataType

/** Ranges, both ends included, that together contain every non-NULL value of a key. No ranges:
  * there is no such value.
  */
final case class KeyRange(dataType: DataType, ranges: Seq[(Any, Any)]) {

  def and(other: KeyRange): KeyRange = KeyRange(dataType, ranges ++ other.ranges)

  /** True for every row whose key lies in a range, and never for any other row. */
  def predicate(key: Expression): Expression = {
    val (points, spans) = ranges.partition { case (lower, upper) => lower == upper }
    val parts = spans.map { case (lower, upper) =>
      And(GreaterThanOrEqual(key, literal(lower)), LessThanOrEqual(key, literal(upper)))
    } ++ Option.when(points.nonEmpty)(InSet(key, points.map(_._1).toSet))
    parts.reduceOption[Expression](Or(_, _)).getOrElse(Literal.FalseLiteral)
  }

  private def literal(value: Any): Literal = Literal(value, dataType)
}

/** Derives the range of a key from the files of the scans that its values come from. */
object KeyRange {

  /** Maximum number of rows of a VALUES list; longer ones are treated as data. */
  private val MostRows = 1000

  private def points(dataType: DataType, values: Seq[Any]): KeyRange =
    KeyRange(dataType, values.map(v => (v, v)))

  /** The range of a key. Left(None): some of its values do not come from a scan of tamis or a short
    * VALUES list; Left(Some): the planner's reason.
    */
  def of(key: Expression, plan: LogicalPlan): Either[Option[Reason], KeyRange] = plan match {
    case ScanInPlan(scan)                              => ofScan(key, scan)
    case local: LocalRelation if KeyLineage.isKey(key) => ofRows(key, local)
    case _                                             =>
      val below = KeyLineage.step(key, plan).map { b =>
        of(b.key, plan.children(b.child)).map(_.and(KeyRange.points(key.dataType, b.added)))
      }
      below match {
        case Nil => Left(None)
        case all => all.reduce((a, b) => for { x <- a; y <- b } yield x.and(y))
      }
  }

  private def ofScan(key: Expression, scan: ScanInPlan): Either[Option[Reason], KeyRange] =
    if (!KeyLineage.isKey(key)) Left(None)
    else {
      val goal = KeyRangeGoal(Question.writer(scan.table).write(key))
      ScanPlanner
        .ask(scan.table, scan.conjuncts, goal)
        .flatMap(goalAnswer => GoalReader.ranges(goalAnswer.answer, key.dataType))
        .map(KeyRange(key.dataType, _))
        .left
        .map(Some(_))
    }

  /** The values of a VALUES list, computed by Spark. FLOAT and DOUBLE are excluded, because NaN and
    * -0.0 are not compared here as joins compare them.
    */
  private def ofRows(key: Expression, local: LocalRelation): Either[Option[Reason], KeyRange] =
    if (TypeSets.isFloating(key.dataType) || local.data.size > MostRows) Left(None)
    else {
      val bound = BindReferences.bindReference(key, AttributeSeq(local.output))
      val values = local.data.map(bound.eval).filter(_ != null).distinct
      Right(points(key.dataType, values))
    }
}
