package io.tamis.rules.joins

import io.tamis.PlanSuite
import io.tamis.bridge.StubAnswer

class LeaveKeysToBloomFiltersSuite extends PlanSuite {
  private val threshold =
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold"

  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    answer(StubAnswer(goal = """{"kind":"clustered","flags":[true]}"""))
  }

  /** The columns of each table that are left, if Spark shuffles joins and adds Bloom filters. */
  private def left(sql: String, confs: (String, String)*): Map[String, Set[String]] =
    withConf(
      Seq(threshold -> "1", "spark.sql.autoBroadcastJoinThreshold" -> "-1") ++ confs: _*
    ) {
      tables(LeaveKeysToBloomFilters(tamis(sql)))
        .map(t => t.relation.location.rootPaths.head.getName -> t.purpose.leftToBloomFilters)
        .filter(_._2.nonEmpty)
        .toMap
    }

  private val sql = "SELECT t.s FROM t JOIN u ON t.k = u.k WHERE u.v = 3"

  test("the keys of a join that is shuffled are left") {
    assertEquals(left(sql), Map("t" -> Set("k"), "u" -> Set("k")))
    assertEquals(left("SELECT t.s FROM t LEFT JOIN u ON t.k = u.k"), Map("u" -> Set("k")))
    assertEquals(left("SELECT t.s FROM t FULL JOIN u ON t.k = u.k"), Map.empty[String, Set[String]])
  }

  test("not if a side may be broadcast, by its size or by a hint") {
    assertEquals(
      left(sql, "spark.sql.autoBroadcastJoinThreshold" -> "10MB"),
      Map.empty[String, Set[String]]
    )
    val hinted = "SELECT /*+ BROADCAST(u) */ t.s FROM t JOIN u ON t.k = u.k WHERE u.v = 3"
    assertEquals(left(hinted).get("t"), None)
  }

  test("nor if another join offers the key") {
    val other = "SELECT t.s FROM t JOIN u ON t.k = u.k JOIN p ON t.k = p.k"
    val hinted =
      "SELECT /*+ BROADCAST(p) */ t.s FROM t JOIN u ON t.k = u.k JOIN p ON t.k = p.k WHERE p.v = 3"
    assert(left(other).contains("t"))
    assertEquals(left(hinted).get("t"), None)
  }

  test("nor if Spark adds no Bloom filter") {
    assertEquals(left(sql, threshold -> "10GB"), Map.empty[String, Set[String]])
    assertEquals(
      left(sql, "spark.sql.optimizer.runtime.bloomFilter.enabled" -> "false"),
      Map.empty[String, Set[String]]
    )
    assertEquals(
      left(sql, "spark.tamis.runtimeFilters.enabled" -> "false"),
      Map.empty[String, Set[String]]
    )
  }

  test("applied twice equals once") {
    withConf(threshold -> "1", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      assertIdempotent(LeaveKeysToBloomFilters, tamis(sql))
    }
  }
}
