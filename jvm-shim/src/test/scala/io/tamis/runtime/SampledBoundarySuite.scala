package io.tamis.runtime

import io.tamis.bridge.AnyFailure
import io.tamis.PlanSuite

import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.expressions.{Alias, AttributeReference, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{
  LocalRelation,
  LogicalPlan,
  OneRowRelation,
  Project
}
import org.apache.spark.sql.types.LongType

class SampledBoundarySuite extends PlanSuite {
  private val key = AttributeReference("k", LongType)()

  private def boundary(samples: LogicalPlan*) =
    new SampledBoundary(
      spark,
      FirstRows(Seq(key), Seq(KeyOrder(false, false))),
      samples,
      "",
      "name"
    )

  private val none = LocalRelation(AttributeReference("k0", LongType)())
  private def five = Project(Seq(Alias(Literal(5L), "k0")()), OneRowRelation())
  private val failing = UnresolvedRelation(Seq("missing"))

  test("the first sample with enough rows answers") {
    assertEquals(boundary(five).condition.map(_.sql), Some("(k <= 5L)"))
    assertEquals(boundary(none, five).condition.map(_.sql), Some("(k <= 5L)"))
    val first = boundary(five, failing)
    assertEquals(first.condition.map(_.sql), Some("(k <= 5L)"))
    assertEquals(first.plans.size, 1)
  }

  test("nothing is known from samples with too few rows, and they are not read again") {
    FruitlessSamples.clear()
    assertEquals(boundary(none, none).condition, None)
    assert(FruitlessSamples.contains("name"))
  }

  test("a sample that fails rules nothing out, and may be read again") {
    FruitlessSamples.clear()
    assertEquals(boundary(failing).condition, None)
    assertEquals(boundary(none, failing).condition, None)
    assert(!FruitlessSamples.contains("name"))
  }

  test("a job that a user has cancelled cancels the query") {
    val parameters = Map("jobId" -> "1", "reason" -> "")
    val cancelled = new SparkException("SPARK_JOB_CANCELLED", parameters, null)
    assert(AnyFailure.isCancelled(cancelled))
    assert(AnyFailure.isCancelled(new RuntimeException(cancelled)))
    assert(AnyFailure.isCancelled(new RuntimeException(new InterruptedException)))
    assert(!AnyFailure.isCancelled(new SparkException("a file is missing")))
  }
}
