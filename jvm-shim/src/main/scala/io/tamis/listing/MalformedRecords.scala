package io.tamis.listing

import java.util.Locale

import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.text.TextFileFormat
import org.apache.spark.sql.types.{StringType, StructField, StructType}

/** Makes Spark show which records of text files it could not parse.
  *
  * What a query gets from such a record depends on the columns that it reads. Only a plan that
  * reads every column together with this one shows a record as malformed.
  */
object MalformedRecords {
  private val Own = "__tamis_malformed_record"
  private val Option_ = "columnNameOfCorruptRecord"

  /** The column that holds the text of a malformed record; None: this format has no such column. */
  def column(relation: HadoopFsRelation): Option[String] =
    if (!FileFormats.isText(relation)) None else Some(columnOfUser(relation).getOrElse(Own))

  /** The column of this kind that the schema already has; it does not exist in the files. */
  private def columnOfUser(relation: HadoopFsRelation): Option[String] = {
    val name = CaseInsensitiveMap(relation.options).getOrElse(
      Option_,
      relation.sparkSession.sessionState.conf.columnNameOfCorruptRecord
    )
    if (relation.dataSchema.fieldNames.contains(name)) Some(name) else None
  }

  /** The lines of the same files, with the line ends and the encoding of the reader. */
  def lines(relation: HadoopFsRelation): HadoopFsRelation = relation.copy(
    dataSchema = StructType(Seq(StructField("__tamis_line", StringType))),
    bucketSpec = None,
    fileFormat = new TextFileFormat,
    options = relation.options.filter { case (key, _) => LineOptions(key.toLowerCase(Locale.ROOT)) }
  )(relation.sparkSession)

  private val LineOptions = Set("linesep", "encoding", "charset")

  /** The relation with that column. Its CSV parser reads all columns, whichever a query needs. */
  def shown(relation: HadoopFsRelation): HadoopFsRelation =
    column(relation).fold(relation) { name =>
      val schema =
        if (relation.dataSchema.fieldNames.contains(name)) relation.dataSchema
        else StructType(relation.dataSchema :+ StructField(name, StringType))
      // only named arguments, none by position: checked on Spark 4.0 to 4.3
      relation.copy(
        dataSchema = schema,
        options = CaseInsensitiveMap(relation.options) + (Option_ -> name) +
          ("columnPruning" -> "false")
      )(relation.sparkSession)
    }
}
