package io.tamis.planning

import org.apache.spark.sql.internal.SQLConf

/** How long it could take to read files: about the most that pruning could save. */
private[tamis] object ReadingTime {

  /** What one core reads per second, of bytes and of the cost of opening files: less than in any of
    * eight scans of plain Spark 4.1 with one core and Parquet on a local disk, so that the time is
    * not underestimated. The slowest, the first query of a JVM, hashed nine columns at 75 MiB/s.
    * The others reached 140 MiB/s or more, and those of small files over 1,000 MiB/s.
    */
  private val BytesPerSecond = 64L << 20

  /** Milliseconds of one core, for files of these bytes in all. As for the tasks of a scan, opening
    * a file counts as reading `spark.sql.files.openCostInBytes`.
    */
  def millis(files: Long, bytes: Long, conf: SQLConf): Long =
    math.ceil(1000 * (bytes + files.toDouble * conf.filesOpenCostInBytes) / BytesPerSecond).toLong
}
