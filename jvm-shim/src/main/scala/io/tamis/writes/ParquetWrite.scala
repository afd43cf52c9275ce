package io.tamis.writes

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.command.{DDLUtils, DataWritingCommandExec}
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.types.StructType

/** A command that has written Parquet files.
  *
  * @param root
  *   the directory of the table
  * @param directory
  *   the directory below which the files are: the root, or a partition
  * @param schema
  *   the columns in the files, as queries will read them
  * @param options
  *   of the write; they may hold credentials of the storage
  * @param since
  *   a time before the write began, in milliseconds since 1970
  */
final class ParquetWrite(
    val root: Path,
    val directory: Path,
    val schema: StructType,
    val options: Map[String, String],
    val since: Long
)

object ParquetWrite {

  /** The clocks of the driver and of the storage may differ by so many milliseconds. */
  private val Skew = 60000L

  /** The commands of a query that has ended that have written Parquet files of Spark's own format.
    */
  def of(ran: QueryExecution): Seq[ParquetWrite] = {
    val since = ran.tracker.phases.values.map(_.startTimeMs).minOption
    for {
      insert <- inserts(ran.executedPlan)
      began <- since.toSeq
    } yield write(insert, began - Skew)
  }

  private def inserts(plan: SparkPlan): Seq[InsertIntoHadoopFsRelationCommand] = plan match {
    case adaptive: AdaptiveSparkPlanExec => inserts(adaptive.executedPlan)
    case stage: QueryStageExec           => inserts(stage.plan)
    case writing: DataWritingCommandExec =>
      writing.cmd match {
        // subclasses of the format, such as Delta's, interpret files differently
        case insert: InsertIntoHadoopFsRelationCommand
            if insert.fileFormat.getClass == classOf[ParquetFileFormat] &&
              insert.catalogTable.forall(DDLUtils.isDatasourceTable) &&
              insert.metrics.get("numFiles").exists(_.value > 0) =>
          Seq(insert)
        case _ => Nil
      }
    case other => other.children.flatMap(inserts) // one statement may insert into several tables
  }

  private def write(insert: InsertIntoHadoopFsRelationCommand, since: Long): ParquetWrite = {
    val partitions = insert.partitionColumns.map(_.name)
    val schema = insert.catalogTable.map(_.schema).getOrElse {
      DataTypeUtils.fromAttributes(insert.outputColumns)
    }
    val ofFiles = StructType(schema.filterNot(f => partitions.contains(f.name)))
    val fixed = partitions.takeWhile(insert.staticPartitions.contains).map { name =>
      ExternalCatalogUtils.getPartitionPathString(name, insert.staticPartitions(name))
    }
    new ParquetWrite(
      insert.outputPath,
      fixed.foldLeft(insert.outputPath)(new Path(_, _)),
      SparkTypes.nullable(ofFiles),
      insert.options,
      since
    )
  }

  private val VanishedMs = 200L

  /** The files that were written: those that are not older than the write.
    *
    * This lists the directory in the calling thread, without Spark's caches and jobs. A listing in
    * a cache would hide files that others add from the next query.
    *
    * @param mostListed
    *   the most files to list
    * @return
    *   None if there are more, or the directory is gone
    */
  def files(
      session: ClassicSession,
      write: ParquetWrite,
      mostListed: Int,
      attempts: Int = 2
  ): Option[Seq[FileStatus]] = {
    val conf = session.sessionState.newHadoopConfWithOptions(write.options)
    val storage = write.directory.getFileSystem(conf)
    try {
      val listed = storage.listFiles(write.directory, true)
      val found = mutable.ArrayBuffer.empty[FileStatus]
      var count = 0
      while (count <= mostListed && listed.hasNext) {
        val file = listed.next()
        count += 1
        if (file.getModificationTime >= write.since && isVisible(file.getPath, write.directory))
          found += file
      }
      Option.when(count <= mostListed)(found.toSeq)
    } catch {
      case NonFatal(_) if !storage.exists(write.directory) => None
      // a file has vanished, perhaps with all others: the directory is removed last
      case NonFatal(_) if attempts > 1 =>
        Thread.sleep(VanishedMs)
        files(session, write, mostListed, attempts - 1)
    }
  }

  /** Whether Spark reads a file with this path when it reads the directory (InMemoryFileIndex). */
  private def isVisible(file: Path, directory: Path): Boolean =
    Iterator
      .iterate(file)(_.getParent)
      .takeWhile(path => path != null && path.depth > directory.depth)
      .map(_.getName)
      .forall { name =>
        !name.startsWith(".") && (!name.startsWith("_") || name.contains("=")) &&
        !name.endsWith("._COPYING_")
      }
}
