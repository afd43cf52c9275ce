package io.tamis.formats.iceberg

import io.tamis.bridge.AnyFailure
import io.tamis.formats.Members
import io.tamis.listing.TableSize
import io.tamis.wire.{IcebergSnapshot, Reason, Reasons}
import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A table of Iceberg at the snapshot that a query reads.
  *
  * All members of Iceberg's classes are accessed in this package, by reflection: seen in Iceberg
  * 1.12.0 for Spark 4.1.
  */
private[iceberg] final class IcebergTable private (ofSpark: Table, table: AnyRef) {
  private val loader = ofSpark.getClass.getClassLoader
  private val metadata = Members.call(Members.call(table, "operations"), "current")
  private val ofSnapshot = Option(Members.field(ofSpark, "snapshot"))
  private val properties = Members.get[java.util.Map[String, String]](table, "properties").asScala

  val name: String = ofSpark.name()
  val location: Path = new Path(Members.get[String](table, "location"))

  /** The snapshot, for the Python package. */
  lazy val snapshot: IcebergSnapshot = IcebergSnapshot(
    Members.get[Int](metadata, "formatVersion"),
    ofSnapshot.map(Members.get[Long](_, "snapshotId")),
    ofSnapshot.flatMap(s => Option(Members.get[String](s, "manifestListLocation"))),
    json("SchemaParser", Members.field(ofSpark, "schema")),
    Members
      .get[java.util.List[AnyRef]](metadata, "specs")
      .asScala
      .toSeq
      .map(json("PartitionSpecParser", _)),
    properties.get("schema.name-mapping.default"),
    Option(Members.get[String](metadata, "uuid"))
  )

  def columns: Array[Column] = ofSpark.columns()

  /** Whether the table has no snapshot, and so no files. */
  def isEmpty: Boolean = ofSnapshot.isEmpty

  /** The size of the snapshot, as its writer counted it; None: it did not. */
  def size: Option[TableSize] = for {
    of <- ofSnapshot
    summary = Members.get[java.util.Map[String, String]](of, "summary").asScala
    files <- summary.get("total-data-files").flatMap(_.toLongOption)
    bytes <- summary.get("total-files-size").flatMap(_.toLongOption)
  } yield TableSize(files, bytes)

  private def json(parser: String, of: AnyRef): String =
    Members.callStatic(loader, s"org.apache.iceberg.$parser", "toJson", of).asInstanceOf[String]

  /** Why the files are left to Iceberg; None: tamis may choose among them. */
  def refusal: Option[Reason] = {
    val io = Members.call(table, "io").getClass.getName
    if (isEmpty) Some(Reasons("ICEBERG_NO_SNAPSHOT"))
    else if (io.startsWith(IcebergTable.EncryptingIO)) Some(Reasons("ICEBERG_ENCRYPTED"))
    else if (!isReachable(io)) Some(Reasons("ICEBERG_FILE_IO", "io" -> io))
    else None
  }

  /** Whether Python can read the metadata with the settings of Hadoop's file systems. */
  private def isReachable(io: String): Boolean =
    io == IcebergTable.HadoopIO || (io == IcebergTable.ResolvingIO && {
      val scheme = Option(location.toUri.getScheme).map(_.toLowerCase(Locale.ROOT))
      scheme.forall(Set("file", "hdfs"))
    })

  /** Whether tasks can be confined to row groups of their files. */
  def splitsTasks: Boolean = PartOfFile.isKnown(loader)

  /** The same task, which reads all rows of its file. */
  def withoutDeletes(task: AnyRef): AnyRef = {
    def ofClass(name: String): Class[_] = Class.forName(s"org.apache.iceberg.$name", true, loader)
    val everything = Members.callStatic(
      loader,
      "org.apache.iceberg.expressions.ResidualEvaluator",
      "unpartitioned",
      Members.callStatic(loader, "org.apache.iceberg.expressions.Expressions", "alwaysTrue")
    )
    Members.make(
      ofClass("BaseFileScanTask"),
      IcebergTasks.fileOf(task),
      java.lang.reflect.Array.newInstance(ofClass("DeleteFile"), 0),
      // a task has these as JSON, which tasks of one table share
      Members.field(task, "schemaString"),
      Members.field(task, "specString"),
      everything
    )
  }

  def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    ofSpark.asInstanceOf[SupportsRead].newScanBuilder(options)
}

private[iceberg] object IcebergTable {
  val OfSpark = "org.apache.iceberg.spark.source.SparkTable"
  private val Base = "org.apache.iceberg.BaseTable"
  private val HadoopIO = "org.apache.iceberg.hadoop.HadoopFileIO"

  /** Its subclasses are nested in it. */
  private val EncryptingIO = "org.apache.iceberg.encryption.EncryptingFileIO"
  private val ResolvingIO = "org.apache.iceberg.io.ResolvingFileIO"

  /** Only exactly this class: others choose rows in ways that are not known here. */
  def isOne(table: Table): Boolean = table.getClass.getName == OfSpark

  /** The table, or why tamis does not look into it. */
  def of(table: Table): Either[Reason, IcebergTable] =
    try {
      val inner = Members.call(table, "table")
      val kind = inner.getClass.getName
      if (kind != Base) Left(Reasons("ICEBERG_CATALOG_PLANS", "table" -> kind))
      else if (!IcebergTasks.areKnown(table.getClass.getClassLoader)) Left(unknownVersion)
      else Right(new IcebergTable(table, inner))
    } catch { case AnyFailure(_) => Left(unknownVersion) }

  private def unknownVersion = Reasons("ICEBERG_VERSION")
}
