package io.tamis.rules.relations

import io.tamis.PlanSuite
import io.tamis.listing.NoFiles
import org.apache.spark.sql.catalyst.catalog.BucketSpec
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.text.TextFileFormat
import org.apache.spark.sql.sources.BaseRelation
import org.apache.spark.sql.types._

class EligibilitySuite extends PlanSuite {
  private def relationOf(plan: LogicalPlan): LogicalRelation =
    plan.collectFirst { case r: LogicalRelation => r }.get

  private def table(name: String): LogicalRelation = relationOf(optimized(s"SELECT * FROM $name"))

  private def filesOf(relation: LogicalRelation): HadoopFsRelation =
    relation.relation.asInstanceOf[HadoopFsRelation]

  private def over(files: HadoopFsRelation): LogicalRelation = LogicalRelation(files)

  private def withColumn(name: String, dataType: DataType, metadata: Metadata = Metadata.empty) = {
    val files = filesOf(table("t"))
    over(files.copy(dataSchema = files.dataSchema.add(name, dataType, true, metadata))(spark))
  }

  /** Why no table, and no file index, of tamis takes the place of the relation. */
  private def refusals(relation: LogicalRelation): (Option[String], Option[String]) =
    (Eligibility.refusal(relation).map(_.code), Eligibility.swapRefusal(relation).map(_.code))

  private def assertRefused(relation: LogicalRelation, code: String)(implicit
      loc: munit.Location
  ): Unit = assertEquals(refusals(relation), (Some(code), Some(code)))

  test("plain Parquet, partitioned or not, is taken over") {
    assertEquals(refusals(table("t")), (None, None))
    assertEquals(refusals(table("p")), (None, None))
  }

  test("buckets, metadata columns and other formats only leave the file index to tamis") {
    val files = filesOf(table("t"))
    val bucketed = files.copy(bucketSpec = Some(BucketSpec(2, Seq("k"), Nil)))(spark)
    assertEquals(refusals(over(bucketed)), (Some("BUCKETED"), None))
    val metadata =
      relationOf(optimized(s"SELECT k, _metadata.file_name FROM parquet.`$directory/t`"))
    assertEquals(refusals(metadata), (Some("READS_METADATA"), None))
    Seq(new CSVFileFormat, new JsonFileFormat).foreach { format =>
      assertEquals(refusals(over(files.copy(fileFormat = format)(spark)))._1, Some("NOT_PARQUET"))
      assertEquals(refusals(over(files.copy(fileFormat = format)(spark)))._2, None)
    }
    val text = over(files.copy(fileFormat = new TextFileFormat)(spark))
    assertEquals(refusals(text), (Some("NOT_PARQUET"), Some("UNSUPPORTED_FORMAT")))
  }

  test("streams, other sources and other file indexes are left to Spark") {
    assertRefused(table("t").copy(isStreaming = true), "STREAMING")
    val source = new BaseRelation {
      override def sqlContext: org.apache.spark.sql.SQLContext = spark.sqlContext
      override def schema: StructType = new StructType().add("k", LongType)
    }
    assertRefused(LogicalRelation(source), "OTHER_SOURCE")
    val files = filesOf(table("t"))
    assertRefused(over(files.copy(location = new NoFiles)(spark)), "FOREIGN_FILE_INDEX")
  }

  test("columns that files and directories or two readers disagree about") {
    val files = filesOf(table("p"))
    val both = files.copy(dataSchema = files.dataSchema.add("day", IntegerType))(spark)
    assertRefused(over(both), "PARTITION_COLUMN_IN_FILES")
    assertRefused(withColumn("_tmp_metadata_row_index", LongType), "ROW_INDEX_COLUMN")
    Seq(
      VariantType,
      ArrayType(VariantType),
      MapType(StringType, VariantType),
      new StructType().add("f", VariantType)
    ).foreach(variant => assertRefused(withColumn("x", variant), "VARIANT_COLUMN"))
  }

  test("columns that are matched by field id") {
    val id = new MetadataBuilder().putLong("parquet.field.id", 1).build()
    val relation = withColumn("x", LongType, id)
    assertEquals(refusals(relation), (None, None))
    withConf("spark.sql.parquet.fieldId.read.enabled" -> "true") {
      assertRefused(relation, "MATCHED_BY_FIELD_ID")
      assertEquals(refusals(table("t")), (None, None))
    }
  }
}
