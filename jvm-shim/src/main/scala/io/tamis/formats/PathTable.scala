package io.tamis.formats

import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

/** Tables of formats that are found by their path, without a catalog. */
private[formats] object PathTable {

  /** Whether a path is that of a table of a format, which Spark can read.
    *
    * @param className
    *   a class of the format
    * @param below
    *   what every such table has below its path
    */
  def isOne(session: SparkSession, path: String, className: String, below: String): Boolean =
    Try(Class.forName(className, false, Thread.currentThread.getContextClassLoader)).isSuccess && {
      val wanted = new Path(path, below)
      wanted.getFileSystem(session.sparkContext.hadoopConfiguration).exists(wanted)
    }
}
