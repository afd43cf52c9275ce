package io.tamis.rules

import scala.util.control.NonFatal

import io.tamis.bridge.Warnings
import io.tamis.conf.TamisConf
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf

/** A rule that chooses files by what a plan does with the rows of a scan. Whatever goes wrong, the
  * plan stays as it was.
  */
abstract class GoalRule extends NeverFails[LogicalPlan] {
  protected def isOn(conf: SQLConf): Boolean

  final override protected def isAsked: Boolean = TamisConf.enabled(conf) && isOn(conf)
}

/** The same of a physical plan, which has what rules before it have put there. */
abstract class GoalPhysicalRule extends NeverFails[SparkPlan] {
  final override protected def isAsked: Boolean = true
}

abstract class NeverFails[Plan <: TreeNode[Plan]] extends Rule[Plan] {
  protected def isAsked: Boolean
  protected def rewritten(plan: Plan): Plan

  final override def apply(plan: Plan): Plan =
    if (!isAsked) plan
    else
      try rewritten(plan)
      catch {
        // a LinkageError: a Spark whose internals are not those that the jar was built for
        case e @ (NonFatal(_) | _: LinkageError) =>
          Warnings.once(
            s"rule:$ruleName:${e.getClass.getName}",
            s"$ruleName failed (${e.getMessage}). The plan stays as it was without that rule.",
            e
          )
          plan
      }
}
