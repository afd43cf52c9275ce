package io.tamis.remote

import java.net.URI
import java.util

import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A remote table of tamis (tamis.remote in Python). Each scan of it tells the data source which
  * columns, filters, join keys and LIMIT the query has.
  *
  * @param format
  *   the name of the data source, such as tamis.airport
  * @param options
  *   those of the query. They may contain a token, so messages never contain them.
  * @param takesKeys
  *   whether Spark may hand join keys to scans at run time
  */
final class RemoteTable(
    val session: SparkSession,
    val format: String,
    override val schema: StructType,
    val options: CaseInsensitiveStringMap,
    val takesKeys: Boolean = true
) extends Table
    with SupportsRead {

  override def name(): String = format
  override def capabilities(): util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(ignored: CaseInsensitiveStringMap): ScanBuilder =
    new RemoteScanBuilder(this)

  /** The table and the server, for errors. Of the location it has only the host, because the rest
    * may contain a password.
    */
  def label: String = {
    def option(name: String) = Option(options.get(name)).filter(_.nonEmpty)
    val table =
      option("table").map(name => (option("schema").toSeq :+ name).mkString("the table ", ".", ""))
    val rows = table.orElse(option("function").map("the function " + _)).getOrElse("a table")
    val location = option("uri").flatMap(uri => Try(new URI(uri)).toOption)
    val host = location.filter(_.getHost != null).map { uri =>
      s"the server ${uri.getHost}" + (if (uri.getPort < 0) "" else s":${uri.getPort}")
    }
    s"$rows of ${host.getOrElse("a worker")} ($format)"
  }

  def withoutKeys: RemoteTable =
    new RemoteTable(session, format, schema, options, takesKeys = false)

  override def equals(other: Any): Boolean = other match {
    case table: RemoteTable =>
      format == table.format && schema == table.schema && options == table.options &&
      takesKeys == table.takesKeys
    case _ => false
  }
  override def hashCode(): Int = (format, schema).hashCode()
}
