package io.tamis.rules

import io.tamis.{PlanSuite, SharedTables}
import io.tamis.rules.filters.AddImpliedFilters
import io.tamis.rules.relations.{SwapFileIndex, UseTamisTables}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** A plan that rewrites rows in place, recognized by the name of its node. */
private final case class ReplaceData(child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(newChild: LogicalPlan): ReplaceData =
    copy(child = newChild)
}

/** The scans of such a plan determine which files the writer replaces, so they stay Spark's. */
class RowLevelWritesSuite extends PlanSuite with SharedTables {

  test("scans of a plan that rewrites rows stay as they are") {
    val read = optimized("SELECT k FROM t WHERE year(make_date(k, 1, 1)) > 5")
    val plan = ReplaceData(read)
    Seq(new UseTamisTables(spark), SwapFileIndex, AddImpliedFilters).foreach { rule =>
      assert(rule(plan) eq plan, rule.ruleName)
    }
    assert(!(new UseTamisTables(spark)(read) eq read))
  }
}
