package io.tamis.formats.iceberg

import org.apache.iceberg.BaseTable
import org.apache.iceberg.rest.RESTTable
import org.apache.iceberg.spark.source.SparkTable

/** Tables of catalogs and releases that other tests do not have. */
class IcebergTableSuite extends munit.FunSuite {

  private def refused(table: SparkTable): Option[(String, String)] =
    IcebergTable.of(table).left.toOption.map(reason => reason.code -> reason.text)

  test("a table whose catalog plans its scans") {
    assertEquals(
      refused(new SparkTable(new RESTTable)),
      Some(
        "ICEBERG_CATALOG_PLANS" ->
          "it is a table of the class org.apache.iceberg.rest.RESTTable, which plans its own scans"
      )
    )
  }

  test("a release whose scans have other members") {
    assertEquals(
      refused(new SparkTable(new BaseTable)),
      Some("ICEBERG_VERSION" -> "this release of Iceberg is not known to tamis")
    )
  }

  test("only Iceberg's own class is a table of Iceberg") {
    val table = new SparkTable(new BaseTable)
    assert(IcebergRelation.isOne(table))
    assert(!IcebergRelation.isOne(new SparkTable(new BaseTable) {}))
  }
}
