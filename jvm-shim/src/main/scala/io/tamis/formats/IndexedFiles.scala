package io.tamis.formats

import io.tamis.formats.delta.DeltaFiles
import io.tamis.formats.iceberg.IcebergRelation
import io.tamis.listing.Listing
import io.tamis.rules.relations.FileRelation

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.StructType

/** The files of a table, and how a statistics index reads them. */
trait IndexedFiles {

  def roots: Seq[Path]
  def listing: Listing

  /** The columns of the files. */
  def columns: StructType
  def partitionColumns: StructType

  /** What else an export of the listing says about the files, for Python: see Tamis.exportListing.
    */
  def details: Seq[(String, Any)]

  /** Every row of the files. What a view adds is left out.
    *
    * @param asLines
    *   whether to return the lines of text files instead, as one column
    * @param skipsUnreadable
    *   whether to leave out files that are missing, and the rows after the first one that cannot be
    *   read
    */
  def rows(asLines: Boolean, skipsUnreadable: Boolean): Dataset[Row]
}

object IndexedFiles {

  /** The modification time of files that never change, in milliseconds since 1970
    * (tamis.indexing.read.freshness).
    */
  val Unchanging: Long = -2L

  /** The files of the only table that a query reads.
    *
    * @param name
    *   the table or path, as the user named it
    */
  def of(planned: QueryExecution, name: String): IndexedFiles = {
    val found = planned.analyzed.collect {
      case FileRelation(_, files) =>
        DeltaFiles.indexed(files).getOrElse(new SparkFiles(files, name))
      case r: DataSourceV2Relation if IcebergRelation.isOne(r.table) =>
        IcebergRelation.indexed(planned.sparkSession, r)
    }
    found match {
      case Seq(files) => files
      case _          =>
        throw new IllegalArgumentException(
          "an index needs one directory of Parquet, ORC, CSV or JSON files, a table over one, or a " +
            s"table of Delta or Iceberg, but $name is something else, such as a view, a table of " +
            "a Hive SerDe, or a table whose format is not in spark.sql.sources.useV1SourceList. " +
            "Pass the path of the directory."
        )
    }
  }
}
