package io.tamis.formats.iceberg

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** The types of Iceberg's schemas, in their JSON form. */
private[iceberg] object IcebergTypes {
  private val mapper = new ObjectMapper()

  /** Types that Spark's Parquet reader reads as Iceberg's does. Not among them are those that are
    * stored in another form than Spark stores their Spark type: fixed, uuid, time, timestamps in
    * nanoseconds, variant and the geospatial types.
    */
  private val Common = Set(
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "date",
    "timestamp",
    "timestamptz",
    "string",
    "binary"
  )

  /** Whether all columns of a schema have such types, and no default for older files. */
  def areCommon(schema: String): Boolean = isCommon(mapper.readTree(schema))

  private def isCommon(t: JsonNode): Boolean =
    if (t.isTextual) Common(t.asText) || t.asText.startsWith("decimal(")
    else
      t.path("type").asText match {
        case "struct" =>
          t.path("fields").elements.asScala.forall { f =>
            !f.has("initial-default") && isCommon(f.path("type"))
          }
        case "list" => isCommon(t.path("element"))
        case "map"  => isCommon(t.path("key")) && isCommon(t.path("value"))
        case _      => false
      }
}
