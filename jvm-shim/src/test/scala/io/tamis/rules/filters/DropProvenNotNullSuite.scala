package io.tamis.rules.filters

import io.tamis.PlanSuite
import io.tamis.bridge.StubAnswer
import io.tamis.rules.relations.TamisScanRelation
import org.apache.spark.sql.catalyst.expressions.{
  And,
  EqualTo,
  Expression,
  IsNotNull,
  IsNull,
  Literal
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

class DropProvenNotNullSuite extends PlanSuite {

  /** A plan whose scan has been built. */
  private def built: LogicalPlan = spark
    .sql("SELECT k, v FROM t WHERE k IS NOT NULL")
    .queryExecution
    .optimizedPlan
    .collectFirst { case scan @ TamisScanRelation(_) => scan }
    .get

  private def proven: LogicalPlan = {
    answer(StubAnswer(pushdown = "exact"))
    built
  }

  private def column(plan: LogicalPlan, name: String): Expression =
    plan.output.find(_.name == name).get

  test("IS NOT NULL that the scan has proven leaves the plan, and other conjuncts stay") {
    val scan = proven
    val (k, v) = (column(scan, "k"), column(scan, "v"))
    assertEquals(DropProvenNotNull(Filter(IsNotNull(k), scan)), scan)
    val other = EqualTo(k, Literal(3L))
    assertEquals(
      DropProvenNotNull(Filter(And(And(other, IsNotNull(k)), IsNotNull(v)), scan)),
      Filter(And(other, IsNotNull(v)), scan)
    )
  }

  test("other conjuncts and other columns stay") {
    val scan = proven
    Seq(IsNotNull(column(scan, "v")), IsNull(column(scan, "k"))).foreach { condition =>
      assertUnchanged(DropProvenNotNull, Filter(condition, scan))
    }
  }

  test("what is not proven stays") {
    answer(StubAnswer())
    val scan = built
    assertUnchanged(DropProvenNotNull, Filter(IsNotNull(column(scan, "k")), scan))
  }

  test("relations that are not built yet keep their filters") {
    assertUnchanged(DropProvenNotNull, tamis("SELECT v FROM t WHERE k IS NOT NULL"))
  }

  test("the rule is idempotent") {
    val scan = proven
    assertIdempotent(DropProvenNotNull, Filter(IsNotNull(column(scan, "k")), scan))
  }
}
