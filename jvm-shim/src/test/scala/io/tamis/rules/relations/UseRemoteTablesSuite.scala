package io.tamis.rules.relations

import io.tamis.PlanSuite
import io.tamis.remote.RemoteTable
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Union}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.datasources.v2.python.{PythonDataSourceV2, PythonTable}
import org.apache.spark.sql.types.{LongType, StructType}

class UseRemoteTablesSuite extends PlanSuite {
  private def rule = new UseRemoteTables(spark)

  private def reading(format: String): LogicalPlan = {
    val schema = new StructType().add("k", LongType)
    val table = new PythonTable(new PythonDataSourceV2, format, schema)
    DataSourceV2Relation.create(table, None, None)
  }

  test("relations over the sources of tamis become remote tables with the same columns") {
    UseRemoteTables.Formats.foreach { format =>
      val plan = reading(format)
      rule(plan) match {
        case relation @ TableOf(table: RemoteTable) =>
          assertEquals((table.format, table.schema), (format, plan.schema))
          assertEquals(relation.output, plan.output)
        case other => fail(s"$other is not remote")
      }
    }
  }

  test("other Python sources and other tables stay as they are") {
    assertUnchanged(rule, reading("another.source"))
    assertUnchanged(rule, tamis("SELECT k FROM t"))
  }

  test("nothing changes beside a stream, or if tamis is off or observes") {
    val plan = reading("tamis.airport")
    val stream = LocalRelation(plan.output.map(_.newInstance()), Nil, isStreaming = true)
    assertUnchanged(rule, Union(plan, stream))
    withConf("spark.tamis.mode" -> "observe")(assertUnchanged(rule, plan))
    withConf("spark.tamis.enabled" -> "false")(assertUnchanged(rule, plan))
  }
}
