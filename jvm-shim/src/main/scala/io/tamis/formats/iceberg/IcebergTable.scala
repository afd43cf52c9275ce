package io.tamis.formats.iceberg

import io.tamis.formats.Members
import io.tamis.wire.{IcebergSnapshot, Reason, Reasons}
import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A table of Iceberg at the snapshot that a query reads.
  *
  * All members of Iceberg's classes are accessed in this package, by reflection: seen in Iceberg
  * 1.12.0 for Spark 4.1.
  */
private[iceberg] final class IcebergTable private (val ofSpark: Table) {
  private val table = Members.call(ofSpark, "table")
  private val metadata = Members.call(Members.call(table, "operations"), "current")
  private val ofSnapshot = Option(Members.field(ofSpark, "snapshot"))
  private val ofSchema = Members.field(ofSpark, "schema")
  private val loader = ofSpark.getClass.getClassLoader

  val name: String = ofSpark.name()
  val columns: StructType = ofSpark.schema()
  val location: Path = new Path(Members.get[String](table, "location"))
  private val properties = Members.get[java.util.Map[String, String]](table, "properties").asScala

  /** The snapshot, for the Python package. */
  lazy val snapshot: IcebergSnapshot = IcebergSnapshot(
    Members.get[Int](metadata, "formatVersion"),
    ofSnapshot.map(Members.get[Long](_, "snapshotId")),
    ofSnapshot.flatMap(s => Option(Members.get[String](s, "manifestListLocation"))),
    schema,
    Members
      .get[java.util.List[AnyRef]](metadata, "specs")
      .asScala
      .toSeq
      .map(json("PartitionSpecParser", _)),
    properties.get(IcebergTable.NameMapping),
    otherNames.isEmpty
  )

  private lazy val schema: String = json("SchemaParser", ofSchema)

  private def json(parser: String, of: AnyRef): String =
    Members.callStatic(loader, s"org.apache.iceberg.$parser", "toJson", of).asInstanceOf[String]

  /** Why the files are left to Iceberg; None: tamis may choose among them. */
  def refusal: Option[Reason] = {
    val kind = table.getClass.getName
    val io = Members.call(table, "io").getClass.getName
    if (kind != IcebergTable.Base) Some(Reasons("ICEBERG_CATALOG_PLANS", "table" -> kind))
    else if (ofSnapshot.isEmpty) Some(Reasons("ICEBERG_NO_SNAPSHOT"))
    else if (!isReachable(io)) Some(Reasons("ICEBERG_FILE_IO", "io" -> io))
    else None
  }

  /** Whether Python can read the metadata with the settings of Hadoop's file systems. */
  private def isReachable(io: String): Boolean =
    io == IcebergTable.HadoopIO || (io == IcebergTable.ResolvingIO && {
      val scheme = Option(location.toUri.getScheme).map(_.toLowerCase(Locale.ROOT))
      scheme.forall(Set("file", "hdfs"))
    })

  /** Why the columns of the table may have other names or values in its files, if these are read by
    * name as Spark's own Parquet reader reads them; None: they do not.
    *
    * The name of a column in a file is that of the schema it was written with, so there must never
    * have been another schema: only the first one of a table has the id 0. Files that were added
    * have a name mapping. Iceberg writes some characters of names in another form.
    */
  lazy val otherNames: Option[String] = {
    val schemas = Members.get[java.util.List[AnyRef]](metadata, "schemas").asScala
    if (schemas.map(Members.get[Int](_, "schemaId")) != Seq(0))
      Some("its schema has changed, and older files keep the names of their columns")
    else if (properties.contains(IcebergTable.NameMapping))
      Some(s"it has a name mapping (${IcebergTable.NameMapping})")
    else if (!IcebergTable.isPlain(columns))
      Some("names of its columns differ only in case, or have characters that Iceberg encodes")
    else if (!IcebergTypes.areCommon(schema))
      Some("a column has a type, or a default for older files, that only Iceberg's reader supports")
    else None
  }

  /** Whether Spark's own Parquet reader returns the same rows as Iceberg's, for files without
    * deletes, and loses nothing that Iceberg's scan tells the optimizer: groups of partitions for
    * joins if Spark asks for them, and numbers of distinct values if Spark estimates by them.
    */
  lazy val isReadAlikeBySpark: Boolean = {
    val conf = SQLConf.get
    !conf.v2BucketingEnabled && !conf.cboEnabled && !conf.planStatsEnabled && otherNames.isEmpty
  }

  def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    ofSpark.asInstanceOf[SupportsRead].newScanBuilder(options)
}

private[iceberg] object IcebergTable {
  private val OfSpark = "org.apache.iceberg.spark.source.SparkTable"
  private val Base = "org.apache.iceberg.BaseTable"
  private val HadoopIO = "org.apache.iceberg.hadoop.HadoopFileIO"
  private val ResolvingIO = "org.apache.iceberg.io.ResolvingFileIO"
  private val NameMapping = "schema.name-mapping.default"

  /** Only exactly this class: others choose rows in ways that are not known here. */
  def of(table: Table): Option[IcebergTable] =
    if (isOne(table)) Some(new IcebergTable(table)) else None

  def isOne(table: Table): Boolean = table.getClass.getName == OfSpark

  private val PlainName = "[A-Za-z_][A-Za-z0-9_]*".r

  /** Whether all names are the same in files, and differ by more than case. */
  private def isPlain(t: DataType): Boolean = t match {
    case s: StructType =>
      s.map(_.name.toLowerCase(Locale.ROOT)).distinct.size == s.size &&
      s.forall(f => PlainName.matches(f.name) && isPlain(f.dataType))
    case a: ArrayType => isPlain(a.elementType)
    case m: MapType   => isPlain(m.keyType) && isPlain(m.valueType)
    case _            => true
  }
}
