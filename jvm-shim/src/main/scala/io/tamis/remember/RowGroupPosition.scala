package io.tamis.remember

import java.lang.reflect.{Field, Modifier}

import scala.util.control.NonFatal

import org.apache.hadoop.mapreduce.RecordReader
import org.apache.parquet.Version
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.BlockMetaData
import org.apache.spark.sql.connector.read.PartitionReader

/** The row group whose rows a reader of Spark's returns. */
private[remember] trait RowGroupPosition {

  /** The number of the row group among those that are read; -1 before the first. */
  def current: Int

  /** The rows of a row group: start and stop in the file. None: unknown. */
  def rows(group: Int): Option[(Long, Long)]

  /** The end of the last row group that the footer lists. A reader may have skipped it. */
  def lastRow: Long

  /** The number of rows of the file, those of skipped row groups included. None: the footer does
    * not list all rows up to the last one. It lists those of the split, so only a reader of the
    * whole file knows.
    */
  def rowsOfFile: Option[Long]
}

/** The position of parquet-mr's reader.
  *
  * Spark's readers, vectorized or row by row, load one row group after the other with parquet-mr's
  * ParquetFileReader, and never return rows of two row groups in one batch. Its field
  * `currentBlock` is the number of row groups that it has loaded or skipped. A reader loads a row
  * group when it is asked for a row and has none left, so the last of them is the one whose rows it
  * returns. Checked in parquet-hadoop 1.15 to 1.17 and Spark 4.0 to 4.3.
  */
private final class PositionInFile(reader: ParquetFileReader, loaded: Field)
    extends RowGroupPosition {
  private val groups = reader.getRowGroups
  private var last, sum = 0L
  reader.getFooter.getBlocks.forEach { group =>
    last = math.max(last, group.getRowIndexOffset + group.getRowCount)
    sum += group.getRowCount
  }

  override def lastRow: Long = last

  // the row groups do not overlap, so nothing is missing between them if they add up to the last row
  override def rowsOfFile: Option[Long] = Option.when(sum == last)(last)

  override def current: Int = loaded.getInt(reader) - 1

  override def rows(group: Int): Option[(Long, Long)] =
    Option.when(group >= 0 && group < groups.size)(rowsOf(groups.get(group))).filter(_._1 >= 0)

  private def rowsOf(group: BlockMetaData): (Long, Long) =
    (group.getRowIndexOffset, group.getRowIndexOffset + group.getRowCount)
}

/** Runs once per file, so often in code that is not compiled yet: it allocates nothing on its way
  * to the reader.
  */
private[remember] object RowGroupPosition {

  /** None if the reader is of another kind. */
  def of(reader: AnyRef): Option[RowGroupPosition] =
    try
      for {
        field <- loaded
        inner <- Option(inside(reader, Deepest))
      } yield new PositionInFile(inner, field)
    catch { case NonFatal(_) | (_: LinkageError) => None } // classes of another version

  private val Checked = Seq("1.15.", "1.16.", "1.17.")

  /** None: another version, so that only whole files are learnt. */
  private val loaded: Option[Field] =
    try
      Option.when(Checked.exists(Version.VERSION_NUMBER.startsWith)) {
        val field = classOf[ParquetFileReader].getDeclaredField("currentBlock")
        field.setAccessible(true)
        field
      }
    catch { case NonFatal(_) | (_: LinkageError) => None }

  /** Readers wrap readers; this many at most. */
  private val Deepest = 8

  /** The first one that is found; null: none. */
  private def inside(reader: AnyRef, depth: Int): ParquetFileReader = reader match {
    case found: ParquetFileReader => found
    case null                     => null
    case _ if depth == 0          => null
    case other                    =>
      val all = fields.get(other.getClass)
      var found: ParquetFileReader = null
      var i = 0
      while (found == null && i < all.length) {
        found = inside(all(i).get(other), depth - 1)
        i += 1
      }
      found
  }

  /** The fields of a class that hold readers. */
  private val fields = new ClassValue[Array[Field]] {
    override protected def computeValue(of: Class[_]): Array[Field] = {
      val all = Iterator.iterate[Class[_]](of)(_.getSuperclass).takeWhile(_ != null)
      val found = all.flatMap(_.getDeclaredFields).filter { f =>
        !Modifier.isStatic(f.getModifiers) && isReader(f.getType)
      }
      found.map { f => f.setAccessible(true); f }.toArray
    }
  }

  private def isReader(t: Class[_]): Boolean =
    classOf[PartitionReader[_]].isAssignableFrom(t) || classOf[RecordReader[_, _]]
      .isAssignableFrom(t) || t == classOf[ParquetFileReader] || Inner(t.getName)

  /** Classes that are private to their packages. */
  private val Inner = Set(
    "org.apache.parquet.hadoop.InternalParquetRecordReader",
    "org.apache.spark.sql.execution.datasources.parquet." +
      "SpecificParquetRecordReaderBase$ParquetRowGroupReader"
  )
}
