package io.tamis.rules.filters

import io.tamis.PlanSuite
import io.tamis.bridge.{StubAnswer, StubPlanner}
import io.tamis.planning.FilterUse
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Subquery}

class KeepUsedFiltersSuite extends PlanSuite {
  private val Unlimited = Long.MaxValue

  /** Every filter is proven, and leaves the plan. */
  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    answer(StubAnswer(pushdown = "exact"))
  }

  private def uses(plan: LogicalPlan): Map[String, Seq[FilterUse]] =
    tables(KeepUsedFilters(plan)).map { t =>
      t.relation.location.rootPaths.head.getName -> t.purpose.filterUses
    }.toMap

  /** The tables whose filters are used. */
  private def used(sql: String): Set[String] =
    uses(tamis(sql)).collect { case (name, some) if some.exists(_.covers(1)) => name }.toSet

  private val onPartitions = "SELECT p.s FROM p JOIN t ON p.day = t.k WHERE t.v = 3"

  test("a selective filter beside a partitioned table is used") {
    assertEquals(used(onPartitions), Set("t"))
    assertEquals(used("SELECT p.s FROM p JOIN t ON p.day = t.k AND t.s LIKE '%7%'"), Set("t"))
  }

  test("a filter need not be kept if a selective part of it stays in the plan") {
    val sql = "SELECT p.s FROM p JOIN t ON p.day = t.k WHERE t.v = 3 AND t.s LIKE '%7%'"
    assertEquals(used(sql), Set("t"))
    answer(StubAnswer())
    assertEquals(used(sql), Set.empty[String])
    assertEquals(StubPlanner.goals, Nil)
    // proven for the partition, whatever the planner knows
    val ofPartitions = "SELECT q.s FROM p q JOIN p ON q.day = p.v WHERE p.day = 1"
    assertEquals(used(ofPartitions), Set("p"))
    assertEquals(used(s"$ofPartitions AND p.s LIKE '%7%'"), Set.empty[String])
  }

  test("without a selective filter there is nothing to keep") {
    assertEquals(used("SELECT p.s FROM p JOIN t ON p.day = t.k"), Set.empty[String])
    assertEquals(
      used("SELECT p.s FROM p JOIN t ON p.day = t.k WHERE t.v IS NOT NULL"),
      Set.empty[String]
    )
    assertEquals(used("SELECT k FROM t WHERE v = 3"), Set.empty[String])
  }

  test("a join that keeps all rows of the partitioned side cannot prune it") {
    assertEquals(
      used("SELECT p.s FROM p LEFT JOIN t ON p.day = t.k AND t.v = 3"),
      Set.empty[String]
    )
    assertEquals(used("SELECT p.s FROM t LEFT JOIN p ON p.day = t.k WHERE t.v = 3"), Set("t"))
    assertEquals(
      used("SELECT p.s FROM p FULL JOIN (SELECT * FROM t WHERE v = 3) t ON p.day = t.k"),
      Set.empty[String]
    )
  }

  test("a join without an equality of both sides prunes nothing") {
    assertEquals(used("SELECT p.s FROM p JOIN t ON p.day < t.k WHERE t.v = 3"), Set.empty[String])
  }

  test("a column of the files counts if they are clustered by it") {
    val sql = "SELECT u.s FROM u JOIN t ON u.k = t.k WHERE t.v = 3"
    Seq("true" -> Set("t"), "false" -> Set.empty[String]).foreach { case (flag, expected) =>
      answer(StubAnswer(pushdown = "exact", goal = s"""{"kind":"clustered","flags":[$flag]}"""))
      assertEquals(used(sql), expected, flag)
    }
    val clustered = """{"kind":"clustered","flags":[true]}"""
    answer(StubAnswer(pushdown = "exact", goal = clustered))
    withConf("spark.tamis.runtimeFilters.enabled" -> "false") {
      assertEquals(used(sql), Set.empty[String])
    }
    assertEquals(StubPlanner.goals, Nil)
  }

  test("the filter is left for sizes that Spark would broadcast, in proportion to the columns") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "1000") {
      // of 8 + 8 + 4 + 20 bytes in a row, the join needs 8 + 8
      assertEquals(uses(tamis(onPartitions))("t"), Seq(FilterUse(-1, 2500)))
    }
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      assertEquals(used(onPartitions), Set.empty[String])
    }
    withConf("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly" -> "false") {
      assertEquals(uses(tamis(onPartitions))("t"), Seq(FilterUse(-1, Unlimited)))
    }
  }

  test("a Bloom filter uses a filter over a side that is joined to a large one") {
    val sql = "SELECT u.s FROM u JOIN t ON u.v = t.v WHERE t.s = 'row 3'"
    val threshold = "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold"
    withConf("spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false") {
      assertEquals(used(sql), Set.empty[String])
      withConf(threshold -> "1", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
        assertEquals(uses(tamis(sql))("t").map(u => (u.simpleOnly, u.covers(1))), Seq((true, true)))
      }
    }
  }

  test("without the rules of Spark nothing is kept") {
    withConf(
      "spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false",
      "spark.sql.optimizer.runtime.bloomFilter.enabled" -> "false"
    )(assertUnchanged(KeepUsedFilters, tamis(onPartitions)))
  }

  test("the detection of star schemas uses any predicate of a join's tables") {
    withConf(
      "spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false",
      "spark.sql.optimizer.runtime.bloomFilter.enabled" -> "false",
      "spark.sql.cbo.enabled" -> "true",
      "spark.sql.cbo.joinReorder.enabled" -> "true",
      "spark.sql.cbo.joinReorder.dp.star.filter" -> "true"
    ) {
      val kept = uses(tamis("SELECT u.s FROM u JOIN t ON u.v = t.v WHERE t.v + 1 = 3"))
      assertEquals(kept("t"), Seq(FilterUse(-1, Unlimited, anyPredicate = true)))
    }
  }

  test("a subquery of IN may become a side of a join, one that gives a single row may not") {
    def subquery(sql: String) =
      uses(Subquery(tamis(sql), correlated = false)).values.flatten.exists(_.covers(1))
    assert(subquery("SELECT k FROM t WHERE v = 3"))
    assert(!subquery("SELECT max(k) FROM t WHERE v = 3"))
    assert(!subquery("SELECT k FROM t"))
  }

  test("the filter of a query with IN is used for the partitions of the subquery") {
    assertEquals(
      used("SELECT s FROM t WHERE v = 3 AND k IN (SELECT CAST(day AS BIGINT) FROM p)"),
      Set("t")
    )
  }

  test("applied twice equals once") {
    assertIdempotent(KeepUsedFilters, tamis(onPartitions))
  }
}
