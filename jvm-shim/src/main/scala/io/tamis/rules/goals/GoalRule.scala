package io.tamis.rules.goals

import io.tamis.bridge.AnyFailure
import io.tamis.conf.{Mode, TamisConf}
import io.tamis.planning.OncePerRule
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf

/** A rule that chooses files by what a plan does with the rows of a scan. If it fails, the plan
  * stays unchanged.
  */
abstract class GoalRule extends NeverFails[LogicalPlan] {
  protected def isOn(conf: SQLConf): Boolean

  final override protected def isAsked: Boolean = TamisConf.mode(conf) != Mode.Off && isOn(conf)
}

/** The same for a physical plan. Always on: it only handles what earlier rules have added. */
abstract class GoalPhysicalRule extends NeverFails[SparkPlan] {
  final override protected def isAsked: Boolean = true
}

abstract class NeverFails[Plan <: TreeNode[Plan]] extends Rule[Plan] {

  /** Without the package of the class: users exclude rules by their names. */
  override val ruleName: String = s"io.tamis.rules.${getClass.getSimpleName.stripSuffix("$")}"

  protected def isAsked: Boolean
  protected def rewritten(plan: Plan): Plan

  final override def apply(plan: Plan): Plan =
    if (!isAsked) plan
    else
      AnyFailure.warned(
        AnyFailure.keyed(s"rule:$ruleName"),
        s"$ruleName failed",
        "Report this error. The query runs without this rule."
      )(OncePerRule.running(rewritten(plan)))(_ => plan)
}
