package io.tamis.planning

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.listing.{FileOptions, Listing, ReadFingerprint, RecordedFileIndex}
import io.tamis.wire._

import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** A table, and which indexes may describe its files, as requests state it. */
private[planning] final class IndexedTable(files: PlannedFiles, conf: SQLConf) {
  private def relation = files.relation

  /** Where a table format records statistics of the files; then none are read from footers. */
  val recorded: Option[FormatSnapshot] =
    Some(relation.location).collect { case index: RecordedFileIndex => index.snapshot }

  /** None for Parquet, which all table formats use. */
  lazy val reading: Option[String] =
    if (recorded.isDefined) None else ReadFingerprint.of(relation)

  def table: TableOfFiles = TableOfFiles(
    files.name(),
    conf.caseSensitiveAnalysis,
    relation.location.rootPaths.map(p => Listing.canonical(p.toUri.toString)),
    relation.partitionSchema.map(f =>
      PartitionColumn(f.name, ExpressionWriter.typeName(f.dataType))
    )
  )

  def settings: IndexSettings = IndexSettings(
    TamisConf.indexEnabled(conf),
    TamisConf.indexLocation(conf),
    AnswerMemo.epoch,
    TamisConf.timeoutMs(conf) / 2,
    automatic
  )

  def storage: Map[String, String] = new FileOptions(files).storage

  private def automatic: Option[AutomaticIndex] =
    Option.when(
      reading.isEmpty && recorded.isEmpty && TamisConf.indexEnabled(conf) && TamisConf
        .indexAutoName(conf) != "off"
    )(
      AutomaticIndex(
        IndexedTable.columnsOfFiles(relation),
        TamisConf.indexAutoMaxFiles(conf),
        if (TamisConf.mode(conf) == Mode.Observe) 0L
        else math.min(1000L, TamisConf.timeoutMs(conf) / 4)
      )
    )

  /** A request to open these indexes. */
  def openIndexes: OpenIndexesRequest =
    OpenIndexesRequest(table, settings, storage, TamisConf.cacheLocation(conf))
}

object IndexedTable {

  /** The columns in the files of a relation. */
  def columnsOfFiles(relation: HadoopFsRelation): StructType = {
    val partitions = relation.partitionSchema.fieldNames.toSet
    StructType(relation.dataSchema.filterNot(f => partitions(f.name)))
  }
}
