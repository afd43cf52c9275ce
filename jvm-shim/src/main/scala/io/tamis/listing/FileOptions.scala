package io.tamis.listing

import io.tamis.conf.TamisConf
import io.tamis.planning.PlannedFiles

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The read options of a relation, for Spark's scan and for the planner's storage access. */
final class FileOptions(table: PlannedFiles) {
  def asMap: CaseInsensitiveStringMap = new CaseInsensitiveStringMap(table.relation.options.asJava)

  /** Whether Spark continues without files that are missing or corrupt: then a file with known
    * statistics may yield no rows.
    */
  def mayLoseFiles: Boolean = {
    val conf = SQLConf.get
    def option(key: String, default: Boolean): Boolean =
      Option(asMap.get(key)).map(_.toBoolean).getOrElse(default)
    option("ignoreCorruptFiles", conf.ignoreCorruptFiles) ||
    option("ignoreMissingFiles", conf.ignoreMissingFiles)
  }

  /** Settings of the file systems of the table and of its index: see `FileOptions.storage`. */
  def storage: Map[String, String] = {
    val index = TamisConf.indexLocation(SQLConf.get).flatMap(uri => Try(new Path(uri)).toOption)
    FileOptions.storage(
      table.relation.sparkSession,
      table.relation.location.rootPaths ++ index,
      table.relation.options
    )
  }
}

object FileOptions {

  /** Settings of the file systems in use that were set explicitly; empty for local files. Hadoop's
    * defaults are left out.
    */
  def storage(
      session: SparkSession,
      paths: Seq[Path],
      options: Map[String, String]
  ): Map[String, String] =
    if (paths.forall(p => Option(p.toUri.getScheme).forall(_ == "file"))) Map.empty
    else settings(session, options)

  /** Settings of all file systems that were set explicitly, in a conf or in a file of Hadoop's. */
  def settings(session: SparkSession, options: Map[String, String]): Map[String, String] = {
    val conf = session.sessionState.newHadoopConfWithOptions(options)
    conf.asScala
      .map(_.getKey)
      .filter(_.startsWith("fs."))
      .filter(key =>
        Option(conf.getPropertySources(key)).forall(!_.exists(_.endsWith("-default.xml")))
      )
      .map(key => key -> conf.get(key))
      .toMap
  }
}
