package io.tamis.formats.iceberg

import io.tamis.formats.{IndexedFiles, Members}
import io.tamis.listing.{Listing, QuotedName}

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{Dataset, Row, SparkSession}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.functions.{col, lit, struct, timestamp_millis, udf}
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The data files of a snapshot of Iceberg, for their statistics index.
  *
  * Iceberg's own reader reads the rows, so it finds columns as it does for queries: by field id.
  * See IcebergRows.
  */
private[iceberg] final class IndexedIceberg(
    session: SparkSession,
    table: IcebergTable,
    override val columns: StructType
) extends IndexedFiles {

  override def roots: Seq[Path] = Seq(table.location)

  /** Values of partition columns that Iceberg takes from the metadata instead of the files are
    * recognized by tamis.indexing.read.field_ids.
    */
  override def partitionColumns: StructType = new StructType()

  override lazy val listing: Listing = {
    val files = if (table.isEmpty) Nil else IcebergRows.files(table)
    Listing.recorded(
      files.map(file => new Path(IcebergTasks.locationOf(file)).toUri.toString).toArray,
      files.map(Members.get[Long](_, "fileSizeInBytes")).toArray,
      IndexedFiles.Unchanging
    )
  }

  override def details: Seq[(String, Any)] =
    Seq("table_format" -> "iceberg", "iceberg" -> table.snapshot) ++ refusal.map("refusal" -> _)

  private def refusal: Option[String] =
    if (table.snapshot.tableUuid.isEmpty)
      Some("it has no UUID that distinguishes it from another table at the same place")
    else if (columns.fieldNames.exists(_.equalsIgnoreCase(IndexedIceberg.Identity)))
      Some(s"${IndexedIceberg.Identity} is one of its columns: rename it")
    else if (table.isEmpty) None
    else table.refusal.map(_.sentence)

  /** The columns that identify a file are those of Spark's own scans. Iceberg does not tell its
    * size.
    */
  override def rows(asLines: Boolean, skipsUnreadable: Boolean): Dataset[Row] = {
    val relation =
      DataSourceV2Relation.create(new IcebergRows(table), None, None, IndexedIceberg.NoOptions)
    val all = IndexedIceberg.dataset(session, relation)
    val identity = struct(
      IndexedIceberg.uri(all.col(IcebergRows.File)).as("file_path"),
      lit(null).cast(LongType).as("file_size"),
      timestamp_millis(lit(IndexedFiles.Unchanging)).as("file_modification_time")
    )
    val columns = all.columns.toSeq.filter(_ != IcebergRows.File).map(n => col(QuotedName(n)))
    all.select(columns :+ identity.as(IndexedIceberg.Identity): _*)
  }
}

private object IndexedIceberg {
  private val Identity = "_metadata"
  private val NoOptions = CaseInsensitiveStringMap.empty

  /** The URI of a location, as listings have it. */
  private val uri = udf { (location: String) =>
    Listing.canonical(new Path(location).toUri.toString)
  }

  /** The rows of a plan. Spark has no public way to make a Dataset of a DataSource V2 table without
    * a catalog: seen in Spark 4.1.
    */
  private def dataset(session: SparkSession, plan: DataSourceV2Relation): Dataset[Row] = {
    val datasets =
      Members.singleton(getClass.getClassLoader, "org.apache.spark.sql.classic.Dataset")
    Members.get[Dataset[Row]](datasets, "ofRows", session, plan)
  }
}
