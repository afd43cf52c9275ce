package io.tamis.rules.filters

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.planning.{FileSelection, GoalAnswer, ScanConstraints, ScanGoal, ScanPlanner}
import io.tamis.rules.RowOrder
import io.tamis.rules.goals.{GoalRule, ScanBelow}
import io.tamis.rules.relations.{FilteredRelation, TamisRelation}
import io.tamis.wire.{ExpressionWriter, GoalReader, SplitGoal, TypeSets}
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf

/** Splits a scan in two, so that the files whose rows all satisfy the filter are scanned without
  * it, if the filter is expensive or needs a column that nothing else needs:
  * {{{
  *   Project(list, Filter(f, files))
  *   Union(Project(list, Filter(f, matching files)), Project(list, Filter(f, the other files)))
  * }}}
  * Each file is in one of the branches. In the first branch the filter is exact, so Spark's
  * push-down removes it together with the columns that only it needs. If the scan's own question
  * fails to prove it again, the filter stays, and is true for every row.
  *
  * The Union has the attributes of its first child, which the plan above refers to; the second
  * child has fresh ones, as required for a Union.
  *
  * The rule applies only below an Aggregate, which accepts the rows in any order, and only if
  * nothing in the plan depends on the order or the position of rows (RowOrder). It does not apply
  * below a LIMIT, which may stop early, nor to partitioned tables beside a Join, whose partitions
  * Spark prunes at run time.
  */
object SplitResidual extends GoalRule {
  override protected def isOn(conf: SQLConf): Boolean =
    TamisConf.residualSplitEnabled(conf) && TamisConf.mode(conf) == Mode.Apply

  override protected def rewritten(plan: LogicalPlan): LogicalPlan =
    if (plan.isStreaming || plan.exists(isInTheWay)) plan
    else {
      val joins = plan.exists(_.isInstanceOf[Join])
      plan.transformDown { case a: Aggregate => a.mapChildren(below(_, joins)) }
    }

  private def isInTheWay(node: LogicalPlan): Boolean = node match {
    case _: Command => true
    case _          => RowOrder.isUsedBy(node) || node.expressions.exists(!_.deterministic)
  }

  private def below(plan: LogicalPlan, joins: Boolean): LogicalPlan = plan match {
    case _: LocalLimit | _: GlobalLimit | _: Tail | _: Offset | _: Aggregate => plan
    // elsewhere a Filter has no Project above it only if all columns are needed
    case p @ Project(_, FilteredRelation(scan)) if scan.condition.nonEmpty =>
      val purpose = scan.table.purpose
      val mayPrune = joins && scan.table.relation.partitionSchema.nonEmpty
      if (purpose.within.nonEmpty || purpose.implied.nonEmpty || mayPrune) plan
      else ScanBelow.unapply(p).fold(plan)(split(p, _))
    case other => other.mapChildren(below(_, joins))
  }

  private def split(project: Project, scan: ScanBelow): LogicalPlan = {
    val needed = AttributeSet.fromAttributeSets(project.projectList.map(_.references))
    val freed = AttributeSet.fromAttributeSets(scan.conjuncts.map(_.references)) -- needed
    if (!freed.exists(a => TypeSets.isVarying(a.dataType)) && !scan.conjuncts.exists(isExpensive))
      project
    else if (!ScanPlanner.hasChoice(scan.table, scan.conjuncts)) project
    else {
      val goal = SplitGoal(
        freed.toSeq.map(a => ExpressionWriter.typeName(a.dataType)),
        needed.size,
        TamisConf.residualSplitMinSavedMs(conf)
      )
      ScanPlanner.ask(scan.table, scan.conjuncts, goal).toOption.fold[LogicalPlan](project) {
        goalAnswer =>
          GoalReader.files(goalAnswer.answer, goalAnswer.asked.listing.size) match {
            case Right(matching) => inTwo(project, scan, goalAnswer, matching)
            // nothing can be gained, so no goal is shown
            case Left(reason) if reason.isSplitNotNeeded => project
            case Left(reason) => scan.scannedFor(project, ScanGoal.Split, Left(reason))
          }
      }
    }
  }

  /** Whether a scan with this purpose is one of the two parts of a split scan. */
  private[tamis] def isPart(purpose: ScanConstraints): Boolean =
    purpose.goals.exists(g => g.goal == ScanGoal.Split && g.reason.isEmpty)

  private def inTwo(
      project: Project,
      scan: ScanBelow,
      goalAnswer: GoalAnswer,
      matching: java.util.BitSet
  ): LogicalPlan = {
    val listing = goalAnswer.asked.listing
    val others = goalAnswer.answer.kept.clone().asInstanceOf[java.util.BitSet]
    others.and(goalAnswer.asked.ordinals)
    others.andNot(matching)
    def over(files: java.util.BitSet) =
      scan.scannedFor(project, ScanGoal.Split, Right(FileSelection.of(listing, files)))
    Union(over(matching), fresh(over(others)))
  }

  /** The same plan with fresh attributes. */
  private def fresh(plan: LogicalPlan): LogicalPlan = plan match {
    case Project(list, FilteredRelation(scan)) =>
      val output = scan.relation.output.map(_.newInstance())
      val renewed = AttributeMap(scan.relation.output.zip(output))
      def over[E <: Expression](e: E): E =
        e.transform { case a: Attribute => renewed.getOrElse(a, a) }.asInstanceOf[E]
      val projected = list.map {
        case a: Alias => over(a).newInstance()
        case other    => over(other)
      }
      val relation = TamisRelation.of(scan.table, output)
      val filtered = scan.condition.fold(relation)(c => Filter(over(c), relation))
      Project(projected, filtered)
    case other => other
  }

  /** Whether the expression computes anything other than comparisons of values.
    *
    * The planner estimates the cost of a filter (tamis.plan.cost) and decides. But a question costs
    * a round trip, so it is asked only about filters that may be expensive: those with a function,
    * and those that free a long column. tests/spark/test_residual_split.py compares both.
    */
  private def isExpensive(e: Expression): Boolean = e.exists {
    case _: Attribute | _: Literal | _: BinaryComparison | _: And | _: Or | _: Not => false
    case _: IsNull | _: IsNotNull | _: In | _: InSet | _: GetStructField | _: Cast => false
    case _                                                                         => true
  }
}
