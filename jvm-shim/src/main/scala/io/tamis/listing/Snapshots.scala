package io.tamis.listing

import java.io.FileOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.RootAllocator
import org.apache.arrow.vector.{BigIntVector, IntVector, VarCharVector, VectorSchemaRoot}
import org.apache.arrow.vector.ipc.ArrowFileWriter
import org.apache.arrow.vector.types.{DateUnit, FloatingPointPrecision, TimeUnit}
import org.apache.arrow.vector.types.pojo.{ArrowType, Field, FieldType, Schema}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.arrow.ArrowWriter
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Writes listings as Arrow IPC files, which Python maps: paths never travel through py4j.
  *
  * `<fingerprint>.files.arrow`: group int32, name utf8, size int64, mtime int64 (milliseconds since
  * 1970), one row per file. `<fingerprint>.groups.arrow`: directory utf8 and `partition.<name>` for
  * every partition column, one row per group.
  */
object Snapshots {
  private val BatchRows = 1 << 16
  private val Remembered = 64

  private lazy val allocator = new RootAllocator(Long.MaxValue)

  /** Fingerprints on disk, least recently used first. Removing one only costs another export when
    * it is needed again.
    */
  private val onDisk = new util.LinkedHashMap[String, Path](16, 0.75f, true)

  /** Writes the snapshot of the listing into the directory unless it is there already. */
  def ensure(listing: Listing, directory: Path): Unit = synchronized {
    val exists = paths(listing, directory).forall(Files.exists(_))
    if (onDisk.get(listing.fingerprint) != directory || !exists) {
      write(listing, directory)
      onDisk.put(listing.fingerprint, directory)
      while (onDisk.size > Remembered) {
        val oldest = onDisk.entrySet.iterator.next()
        onDisk.remove(oldest.getKey)
        Seq("files", "groups").foreach(kind =>
          Files.deleteIfExists(oldest.getValue.resolve(s"${oldest.getKey}.$kind.arrow"))
        )
      }
    }
  }

  /** Writes both files, each atomically. */
  def write(listing: Listing, directory: Path): Unit = {
    atomically(groupsPath(listing, directory))(writeGroups(listing, _))
    atomically(filesPath(listing, directory))(writeFiles(listing, _))
  }

  /** The files of the snapshot of the listing. */
  def paths(listing: Listing, directory: Path): Seq[Path] =
    Seq(groupsPath(listing, directory), filesPath(listing, directory))

  private def groupsPath(listing: Listing, directory: Path): Path =
    directory.resolve(s"${listing.fingerprint}.groups.arrow")

  private def filesPath(listing: Listing, directory: Path): Path =
    directory.resolve(s"${listing.fingerprint}.files.arrow")

  private def atomically(target: Path)(write: FileOutputStream => Unit): Unit = {
    val part = Files.createTempFile(target.getParent, target.getFileName.toString, ".part")
    val out = new FileOutputStream(part.toFile)
    try write(out)
    finally out.close()
    Files.move(part, target, java.nio.file.StandardCopyOption.ATOMIC_MOVE)
  }

  private def writeFiles(listing: Listing, out: FileOutputStream): Unit = {
    val (group, size, time) = (new IntVector("group", allocator), long("size"), long("mtime"))
    val name = new VarCharVector("name", allocator)
    val root = VectorSchemaRoot.of(group, name, size, time)
    // Spark's writer takes twice as long, which counts when files are many
    batches(root, listing.size, out) { (start, rows) =>
      root.allocateNew()
      var row = 0
      while (row < rows) {
        val file = start + row
        group.setSafe(row, listing.groupOf(file))
        name.setSafe(row, listing.nameOf(file).getBytes(UTF_8))
        size.setSafe(row, listing.sizeOf(file))
        time.setSafe(row, listing.modified(file))
        row += 1
      }
      root.setRowCount(rows)
    }
  }

  private def long(name: String): BigIntVector = new BigIntVector(name, allocator)

  private def writeGroups(listing: Listing, out: FileOutputStream): Unit = {
    // a partition column of a type that is not written is absent: nothing is known about it
    val columns = listing.partitionSchema.fields.toSeq.zipWithIndex.filter { case (f, i) =>
      arrowType(f.dataType).nonEmpty && !holdsOtherScales(listing, f, i)
    }
    val schema = ("directory" -> StringType) +:
      columns.map { case (f, _) => s"partition.${f.name}" -> f.dataType }
    val fields = schema.flatMap { case (name, t) =>
      arrowType(t).map(a => new Field(name, FieldType.nullable(a), null))
    }
    val root = VectorSchemaRoot.create(new Schema(fields.asJava), allocator)
    // Spark's writer over a root of our own: `create(root)` is the same on 4.0 to 4.3
    val vectors = ArrowWriter.create(root)
    batches(root, listing.groups.length, out) { (start, rows) =>
      vectors.reset()
      listing.groups.slice(start, start + rows).foreach { group =>
        val values = columns.map { case (f, ordinal) => group.values.get(ordinal, f.dataType) }
        vectors.write(InternalRow.fromSeq(UTF8String.fromString(group.directory) +: values))
      }
      vectors.finish()
    }
  }

  /** Whether any partition column holds values of another scale than its type. */
  def holdsOtherScales(listing: Listing): Boolean =
    listing.partitionSchema.fields.toSeq.zipWithIndex.exists { case (f, i) =>
      holdsOtherScales(listing, f, i)
    }

  /** Whether values of a decimal partition column have another scale than its type. Under a
    * user-specified schema Spark keeps a decimal in the scale of its directory, 3.00 as
    * DECIMAL(20,4), but reads the digits in the scale of the type, as 0.0300. Such a column must
    * not be compared.
    */
  private def holdsOtherScales(listing: Listing, f: StructField, i: Int): Boolean =
    f.dataType match {
      case d: DecimalType =>
        listing.groups.exists(g =>
          !g.values.isNullAt(i) && g.values.getDecimal(i, d.precision, d.scale).scale != d.scale
        )
      case _ => false
    }

  /** Writes rows in batches.
    *
    * @param fill
    *   puts rows into the root: the number of the first one, and how many
    */
  private def batches(root: VectorSchemaRoot, rows: Int, out: FileOutputStream)(
      fill: (Int, Int) => Unit
  ): Unit = {
    val writer = new ArrowFileWriter(root, null, out.getChannel)
    try {
      writer.start()
      for (start <- 0 until rows by BatchRows) {
        fill(start, math.min(BatchRows, rows - start))
        writer.writeBatch()
      }
      writer.end()
    } finally { writer.close(); root.close() }
  }

  /** The type of a column in the file; None: such columns are not written. */
  private def arrowType(t: DataType): Option[ArrowType] = Some(t).collect {
    case BooleanType      => ArrowType.Bool.INSTANCE
    case ByteType         => new ArrowType.Int(8, true)
    case ShortType        => new ArrowType.Int(16, true)
    case IntegerType      => new ArrowType.Int(32, true)
    case LongType         => new ArrowType.Int(64, true)
    case FloatType        => new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE)
    case DoubleType       => new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE)
    case d: DecimalType   => new ArrowType.Decimal(d.precision, d.scale, 128)
    case StringType       => ArrowType.Utf8.INSTANCE
    case BinaryType       => ArrowType.Binary.INSTANCE
    case DateType         => new ArrowType.Date(DateUnit.DAY)
    case TimestampType    => new ArrowType.Timestamp(TimeUnit.MICROSECOND, "UTC")
    case TimestampNTZType => new ArrowType.Timestamp(TimeUnit.MICROSECOND, null)
  }
}
