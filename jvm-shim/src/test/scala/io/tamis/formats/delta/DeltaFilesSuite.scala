package io.tamis.formats.delta

import io.tamis.PlanSuite
import io.tamis.formats.Members

import org.apache.spark.SparkConf
import org.apache.spark.sql.delta.DeltaParquetFileFormat
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.types.StructType

/** Sessions that other tests do not have: those of a cluster. */
class DeltaFilesSuite extends PlanSuite {

  /** Why the relation of a table stays Delta's own. */
  private def refused(columnMapping: String, deletionVector: AnyRef = null): Option[String] = {
    val index = new PreparedDeltaFileIndex(deletionVector)
    val format = new DeltaParquetFileFormat(columnMapping)
    val empty = new StructType
    HadoopFsRelation(index, empty, empty, None, format, Map.empty)(spark) match {
      case DeltaFiles(files) => files.ofDeltasRelation.map(_.code)
      case _                 => fail("not a relation of Delta")
    }
  }

  private def onCluster[A](body: => A): A = {
    val conf = Members.get[SparkConf](spark.sparkContext, "conf")
    val master = conf.get("spark.master")
    conf.set("spark.master", "spark://host:7077")
    try body
    finally conf.set("spark.master", master)
  }

  test("Delta's reader needs classes of tamis on executors, Spark's own reader none") {
    val lacking = Some("DELTA_EXECUTORS_LACK_JAR")
    onCluster {
      assertEquals(refused("none"), None)
      assertEquals(refused("name"), lacking)
      assertEquals(refused("none", deletionVector = "some"), lacking)
      withConf("spark.tamis.deltaReader.enabled" -> "false") {
        assertEquals(refused("name"), Some("DELTA_READER_IS_OFF"))
      }
    }
    assertEquals(refused("name"), None)
    assertEquals(refused("none", deletionVector = "some"), None)
  }
}
