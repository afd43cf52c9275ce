package io.tamis.formats.iceberg

class IcebergTypesSuite extends munit.FunSuite {

  private def schema(types: String*): String =
    types.zipWithIndex
      .map { case (t, i) =>
        s"""{"id": $i, "name": "c$i", "required": false, "type": $t}"""
      }
      .mkString("""{"type": "struct", "schema-id": 0, "fields": [""", ",", "]}")

  private def list(of: String) =
    s"""{"type": "list", "element-id": 9, "element": $of, "element-required": false}"""

  test("types that Spark's reader reads as Iceberg's") {
    val common = Seq("boolean", "int", "long", "float", "double", "date", "timestamp", "string")
    assert(IcebergTypes.areCommon(schema(common.map(t => s""""$t""""): _*)))
    assert(
      IcebergTypes.areCommon(schema(""""timestamptz"""", """"binary"""", """"decimal(9, 2)""""))
    )
    assert(IcebergTypes.areCommon(schema(list(schema(""""int"""")))))
  }

  test("types that are stored in another form") {
    val others =
      Seq("uuid", "time", "fixed[16]", "timestamp_ns", "timestamptz_ns", "variant", "unknown")
    others.foreach { t =>
      assert(!IcebergTypes.areCommon(schema(s""""$t"""")), t)
      assert(!IcebergTypes.areCommon(schema(list(s""""$t""""))), t)
      val map = s"""{"type": "map", "key-id": 1, "key": "int", "value-id": 2, "value": "$t"}"""
      assert(!IcebergTypes.areCommon(schema(map)), t)
    }
    assert(!IcebergTypes.areCommon(schema(""""geometry(srid:4326)"""")))
    assert(!IcebergTypes.areCommon(schema("""{"type": "new"}""")))
  }

  test("a default for older files is not in the files") {
    val field =
      """{"id": 1, "name": "c", "required": false, "type": "int", "initial-default": 7}"""
    val nested = s"""{"type": "struct", "fields": [$field]}"""
    assert(!IcebergTypes.areCommon(nested))
    assert(!IcebergTypes.areCommon(schema(nested)))
  }
}
