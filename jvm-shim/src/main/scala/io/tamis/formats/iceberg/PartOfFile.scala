package io.tamis.formats.iceberg

import io.tamis.formats.Members
import java.util

import scala.jdk.CollectionConverters._
import scala.util.Try

/** Tasks of Iceberg that read some row groups of their file.
  *
  * Iceberg splits the tasks of a scan when it packs them into partitions, for Parquet at the row
  * groups that the manifests list. Its reader reads the row groups whose midpoint lies in the bytes
  * of a split, as Spark's does, because it leaves that to parquet-mr (`withRange`); it finds
  * deletes by the position of a row in the file, which parquet-mr counts from the beginning of the
  * file for each row group. So a task that splits into other parts of its file reads other row
  * groups, and everything else stays as it is. Executors get splits of Iceberg's own class.
  *
  * Members seen in Iceberg 1.12.0: BaseFileScanTask, whose splits are of the class SplitScanTask;
  * TableScanUtil.planTaskGroups calls `split`, and SparkPartitioningAwareScan the sizes and row
  * counts of tasks.
  */
private[iceberg] object PartOfFile {
  private val Interface = "org.apache.iceberg.FileScanTask"
  private val Split = "org.apache.iceberg.BaseFileScanTask$SplitScanTask"

  /** The task, confined to these bytes of its file.
    *
    * @param task
    *   reads the whole file
    * @param ranges
    *   starts and lengths, ascending: those of FileRanges, one per row group
    * @return
    *   None: it is not a task that can be confined
    */
  def of(task: AnyRef, ranges: Seq[(Long, Long)]): Option[AnyRef] = {
    val loader = task.getClass.getClassLoader
    Option.when(isOfWholeFile(task, loader)) {
      val split = Class.forName(Split, true, loader)
      val splits = ranges.map { case (start, length) =>
        Members.make(split, Long.box(start), Long.box(length), task)
      }
      val iterable = new util.ArrayList(splits.asJava)
      val length = ranges.map(_._2).sum
      val rows = splits.map(Members.get[Long](_, "estimatedRowsCount")).sum
      // with the sizes of the deletes
      val size = Members.get[Long](task, "sizeBytes") - Members.get[Long](task, "length") + length
      Altered(loader, Seq(Interface), task) { (method, result) =>
        method match {
          case "split"              => iterable
          case "start"              => Long.box(ranges.head._1)
          case "length"             => Long.box(length)
          case "sizeBytes"          => Long.box(size)
          case "estimatedRowsCount" => Long.box(rows)
          case _                    => result
        }
      }
    }
  }

  private def isOfWholeFile(task: AnyRef, loader: ClassLoader): Boolean =
    Class.forName(Interface, true, loader).isInstance(task) && {
      val file = IcebergTasks.fileOf(task)
      String.valueOf(Members.call(file, "format")) == "PARQUET" &&
      Members.get[Long](task, "start") == 0 &&
      Members.get[Long](task, "length") == Members.get[Long](file, "fileSizeInBytes")
    }

  /** Whether this release of Iceberg has these classes. */
  def isKnown(loader: ClassLoader): Boolean = Try {
    val task = Class.forName(Interface, false, loader)
    val split = Class.forName(Split, false, loader)
    val signature = split.getDeclaredConstructors.map(_.getParameterTypes.toSeq)
    task.isAssignableFrom(split) && Members.has(task, "split", 1) &&
    signature.contains(Seq(classOf[Long], classOf[Long], task))
  }.getOrElse(false)
}
