package io.tamis.planning

import io.tamis.PlanSuite
import io.tamis.bridge.{PlannerUnavailable, StubAnswer, StubPlanner}
import io.tamis.listing.Listing
import java.nio.file.Files

import org.apache.spark.sql.catalyst.plans.logical.Filter

class ScanPlannerSuite extends PlanSuite {

  private def decided(condition: String, from: String = "p"): Decision = {
    val plan = tamis(s"SELECT * FROM $from WHERE $condition")
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

  test(
    "the indexes of many files are opened before the listing is made, and those of few are not"
  ) {
    for ((files, openings) <- Seq(9999 -> 0, 10000 -> 1)) {
      val path = Files.createDirectory(directory.resolve(s"empty-$files"))
      (0 until files).foreach(i => Files.createFile(path.resolve(s"$i.parquet")))
      answer(StubAnswer())
      val frame = spark.read.schema("k BIGINT").parquet(path.toString)
      frame.createOrReplaceTempView("many")
      (1 to 2).foreach(k => decided(s"k = $k", "many")) // the second time, the listing is known
      val deadline = System.nanoTime() + 10L * 1000 * 1000 * 1000
      while (StubPlanner.openings.size < openings && System.nanoTime() < deadline) Thread.sleep(5)
      assertEquals(
        StubPlanner.openings.map(_.at("/table/roots/0").asText).toList,
        List.fill(openings)(Listing.canonical(path.toUri.toString))
      )
    }
  }
}
