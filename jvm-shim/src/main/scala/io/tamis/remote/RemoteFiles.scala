package io.tamis.remote

import io.tamis.scan.NativeScanBuilder
import java.io.FileNotFoundException

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Parquet files that the server of a table refers to, read by Spark's own scan. */
object RemoteFiles {

  /** Returns the scan.
    *
    * @param where
    *   the table and the server, for errors
    */
  def scan(
      table: RemoteTable,
      files: Seq[String],
      columns: StructType,
      residual: Seq[Expression],
      where: String
  ): ParquetScan = {
    val listed =
      try index(table, files)
      catch {
        case NonFatal(e) =>
          throw new SparkException(
            s"$where: cannot list the Parquet files that the server refers to: ${e.getMessage}",
            e
          )
      }
    val options = CaseInsensitiveStringMap.empty
    val builder =
      new NativeScanBuilder(table.session, listed, table.schema, table.schema, options)
    builder.pruneColumns(columns)
    builder.pushFilters(residual)
    builder.build()
  }

  /** Lists the files. Spark leaves out files that do not exist and files with hidden names, which
    * would be rows that are missing.
    */
  private def index(table: RemoteTable, files: Seq[String]): InMemoryFileIndex = {
    val paths = files.map(new Path(_))
    val listed = new InMemoryFileIndex(table.session, paths, Map.empty, Some(table.schema))
    val present = listed.allFiles().map(_.getPath).toSet
    val conf = table.session.sessionState.newHadoopConf()
    paths.find(path => !present(path.getFileSystem(conf).makeQualified(path))).foreach { path =>
      throw new FileNotFoundException(
        s"$path does not exist, or is not a file, or has a name that Spark ignores"
      )
    }
    listed
  }

  /** The Hadoop settings `fs.*` of a session, with which the planner opens the files too
    * (tamis.indexing.build.listing.storage_settings).
    */
  private[remote] def storage(session: SparkSession): Map[String, String] =
    (session.sparkContext.getConf.getAll.toSeq ++ session.sessionState.conf.getAllConfs)
      .map { case (name, value) => name.stripPrefix("spark.hadoop.") -> value }
      .filter(_._1.startsWith("fs."))
      .toMap
}
