package io.tamis.listing

import java.io.FileOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.RootAllocator
import org.apache.arrow.vector._
import org.apache.arrow.vector.ipc.ArrowFileWriter
import org.apache.arrow.vector.types.{DateUnit, FloatingPointPrecision, TimeUnit}
import org.apache.arrow.vector.types.pojo.{ArrowType, Field, FieldType, Schema}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

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
    if (
      onDisk.get(listing.fingerprint) != directory || !Files.exists(filesPath(listing, directory))
    ) {
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
    atomically(directory.resolve(s"${listing.fingerprint}.groups.arrow"))(writeGroups(listing, _))
    atomically(filesPath(listing, directory))(writeFiles(listing, _))
  }

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
    val schema = new Schema(
      util.List.of(
        field("group", new ArrowType.Int(32, true)),
        field("name", ArrowType.Utf8.INSTANCE),
        field("size", new ArrowType.Int(64, true)),
        field("mtime", new ArrowType.Int(64, true))
      )
    )
    batches(schema, listing.size, out) { (root, from, until) =>
      val group = root.getVector("group").asInstanceOf[IntVector]
      val name = root.getVector("name").asInstanceOf[VarCharVector]
      val size = root.getVector("size").asInstanceOf[BigIntVector]
      val mtime = root.getVector("mtime").asInstanceOf[BigIntVector]
      var i = from
      while (i < until) {
        val row = i - from
        group.setSafe(row, listing.groupOf(i))
        name.setSafe(row, Listing.nameOf(listing.files(i)).getBytes(UTF_8))
        size.setSafe(row, listing.sizeOf(i))
        mtime.setSafe(row, listing.modified(i))
        i += 1
      }
    }
  }

  private def writeGroups(listing: Listing, out: FileOutputStream): Unit = {
    // a partition column whose type PartitionVector does not support is absent: nothing is known
    // about it
    val columns = listing.partitionSchema.fields.toSeq.zipWithIndex.flatMap { case (f, i) =>
      if (holdsOtherScales(listing, f, i)) None else PartitionVector.of(f, i)
    }
    val schema = new Schema(
      (field("directory", ArrowType.Utf8.INSTANCE) +: columns.map(_.field)).asJava
    )
    batches(schema, listing.groups.length, out) { (root, from, until) =>
      val directory = root.getVector("directory").asInstanceOf[VarCharVector]
      (from until until).foreach { i =>
        directory.setSafe(i - from, listing.groups(i).directory.getBytes(UTF_8))
        columns.foreach { c =>
          val vector = root.getVector(c.field.getName)
          if (listing.groups(i).values.isNullAt(c.ordinal)) setNull(vector, i - from)
          else c.set(vector, i - from, listing.groups(i).values)
        }
      }
    }
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

  private def setNull(vector: FieldVector, row: Int): Unit = vector match {
    case fixed: BaseFixedWidthVector =>
      while (fixed.getValueCapacity <= row) fixed.reAlloc(); fixed.setNull(row)
    case variable: BaseVariableWidthVector => variable.setNull(row)
    case other => throw new IllegalStateException(s"cannot write NULL to ${other.getClass}")
  }

  private def batches(schema: Schema, rows: Int, out: FileOutputStream)(
      fill: (VectorSchemaRoot, Int, Int) => Unit
  ): Unit = {
    val root = VectorSchemaRoot.create(schema, allocator)
    val writer = new ArrowFileWriter(root, null, out.getChannel)
    try {
      writer.start()
      var from = 0
      while (from < rows) {
        val until = math.min(from + BatchRows, rows)
        root.clear()
        root.allocateNew()
        fill(root, from, until)
        root.setRowCount(until - from)
        writer.writeBatch()
        from = until
      }
      writer.end()
    } finally { writer.close(); root.close() }
  }

  private def field(name: String, t: ArrowType): Field =
    new Field(name, FieldType.nullable(t), null)

  /** How one partition column is written. */
  private final case class PartitionVector(
      field: Field,
      ordinal: Int,
      set: (FieldVector, Int, InternalRow) => Unit
  )

  private object PartitionVector {
    def of(f: StructField, i: Int): Option[PartitionVector] = {
      def make(t: ArrowType)(set: (FieldVector, Int, InternalRow) => Unit) =
        Some(PartitionVector(field(s"partition.${f.name}", t), i, set))
      def int(bits: Int)(value: InternalRow => Long) = make(new ArrowType.Int(bits, true)) {
        (v, row, values) =>
          v match {
            case x: TinyIntVector  => x.setSafe(row, value(values).toInt)
            case x: SmallIntVector => x.setSafe(row, value(values).toInt)
            case x: IntVector      => x.setSafe(row, value(values).toInt)
            case x: BigIntVector   => x.setSafe(row, value(values))
            case other             =>
              throw new IllegalStateException(s"cannot write an integer to ${other.getClass}")
          }
      }
      f.dataType match {
        case BooleanType =>
          make(ArrowType.Bool.INSTANCE)((v, row, r) =>
            v.asInstanceOf[BitVector].setSafe(row, if (r.getBoolean(i)) 1 else 0)
          )
        case ByteType    => int(8)(_.getByte(i).toLong)
        case ShortType   => int(16)(_.getShort(i).toLong)
        case IntegerType => int(32)(_.getInt(i).toLong)
        case LongType    => int(64)(_.getLong(i))
        case FloatType   =>
          make(new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE))((v, row, r) =>
            v.asInstanceOf[Float4Vector].setSafe(row, r.getFloat(i))
          )
        case DoubleType =>
          make(new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE))((v, row, r) =>
            v.asInstanceOf[Float8Vector].setSafe(row, r.getDouble(i))
          )
        case d: DecimalType =>
          make(new ArrowType.Decimal(d.precision, d.scale, 128))((v, row, r) =>
            v.asInstanceOf[DecimalVector]
              .setSafe(
                row,
                r.getDecimal(i, d.precision, d.scale).toJavaBigDecimal.setScale(d.scale)
              )
          )
        case StringType =>
          make(ArrowType.Utf8.INSTANCE)((v, row, r) =>
            v.asInstanceOf[VarCharVector].setSafe(row, r.getUTF8String(i).getBytes)
          )
        case BinaryType =>
          make(ArrowType.Binary.INSTANCE)((v, row, r) =>
            v.asInstanceOf[VarBinaryVector].setSafe(row, r.getBinary(i))
          )
        case DateType =>
          make(new ArrowType.Date(DateUnit.DAY))((v, row, r) =>
            v.asInstanceOf[DateDayVector].setSafe(row, r.getInt(i))
          )
        case TimestampType =>
          make(new ArrowType.Timestamp(TimeUnit.MICROSECOND, "UTC"))((v, row, r) =>
            v.asInstanceOf[TimeStampMicroTZVector].setSafe(row, r.getLong(i))
          )
        case TimestampNTZType =>
          make(new ArrowType.Timestamp(TimeUnit.MICROSECOND, null))((v, row, r) =>
            v.asInstanceOf[TimeStampMicroVector].setSafe(row, r.getLong(i))
          )
        case _ => None
      }
    }
  }
}
