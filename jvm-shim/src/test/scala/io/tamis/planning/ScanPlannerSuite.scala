package io.tamis.planning

import io.tamis.PlanSuite
import io.tamis.bridge.{PlannerUnavailable, StubAnswer, StubPlanner}
import org.apache.spark.sql.catalyst.plans.logical.Filter

class ScanPlannerSuite extends PlanSuite {

  private def decided(condition: String): Decision = {
    val plan = tamis(s"SELECT s FROM p WHERE $condition")
    val filters = plan.collect { case Filter(c, _) => io.tamis.wire.ExpressionWriter.conjuncts(c) }
    ScanPlanner.decide(tables(plan).head, filters.flatten)
  }

  // condition, partitions of 3, the conjuncts that are true for all their rows
  private val conditions = Seq(
    ("day = 1", 1, 2), // with IS NOT NULL
    ("day = 1 AND k > 5", 1, 2),
    ("(day = 1 AND k > 5) OR (day = 2 AND v < 3)", 2, 0),
    ("(day = 1 AND s LIKE '%1%') OR day = 2", 2, 0),
    ("day = 1 OR k > 5", 3, 0),
    ("plus_one(day) = 2", 1, 1),
    ("plus_one(k) = 2 OR plus_one(day) = 2", 3, 0),
    ("(plus_one(k) = 2 AND day = 0) OR plus_one(day) = 2", 2, 0),
    ("raises(day) = 2", 3, 0),
    // evaluated on what the conjuncts before it leave
    ("day <= 0 AND raises(day) = 0", 1, 3),
    ("day >= 1 AND raises(day) = 2", 2, 2)
  )

  for ((condition, partitions, exact) <- conditions)
    test(s"partitions of $condition are chosen as in plain Spark, with or without a planner") {
      spark.udf.register("plus_one", (x: Int) => x + 1)
      spark.udf.register("raises", (x: Int) => if (x == 1) sys.error("one") else x)
      def check(decision: Decision): Unit = {
        assertEquals(decision.kept.count, partitions)
        assertEquals(decision.conjuncts.count(_.isExact), exact)
      }
      answer(throw new PlannerUnavailable("the test says so"))
      check(decided(condition))
      answer(StubAnswer())
      check(decided(condition))
      assert(StubPlanner.questions.nonEmpty)
      withConf("spark.tamis.mode" -> "observe")(check(decided(condition)))
    }
}
