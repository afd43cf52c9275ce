package io.tamis.formats.delta

import io.tamis.planning.Decision
import io.tamis.scan.{
  FilesReader,
  FilesScan,
  ParquetFilesScan,
  ParquetReaders,
  ReadersWhenRun,
  TamisTable
}

import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.{FileFormat, HadoopFsRelation}
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan
import org.apache.spark.sql.types.{StructField, StructType}

/** Reads files by Delta's own format, which finds columns under their names in the files, and marks
  * deleted rows.
  *
  * Its readers are made as Spark's V1 scan makes them (FileSourceScanExec, seen on 4.1), so they
  * read what Delta reads without tamis.
  *
  * @param relation
  *   with Delta's format
  * @param marks
  *   what the format needs to mark deleted rows, with the mark first; empty: no row was deleted
  */
private[delta] final class DeltaFormatReader(relation: HadoopFsRelation, marks: Seq[StructField])
    extends FilesReader
    with ParquetReaders {
  private val session = relation.sparkSession

  override def scan(table: TamisTable, decision: Decision, columns: StructType): FilesScan =
    new ParquetFilesScan(table, decision, columns, decision.kept, this)

  override val splitsFiles: Boolean = relation.location.rootPaths.headOption
    .forall(relation.fileFormat.isSplitable(session, relation.options, _))

  /** A file that Delta splits is read with the position of each row in the file, whichever row
    * groups are read. Otherwise Delta counts the rows that it reads, from the start of the file.
    */
  override val wholeFiles: Boolean = !splitsFiles

  override def of(scan: ParquetScan): ReadersWhenRun = {
    val ofFiles = StructType(scan.readDataSchema ++ marks)
    val all = StructType(ofFiles ++ scan.readPartitionSchema)
    // same answer as FileSourceScanExec (seen on 4.1)
    val columnar =
      ReadersWhenRun.codeReadsColumns(all) && relation.fileFormat.supportBatch(session, all)
    val options = relation.options
    def readers = new DeltaReaders(
      relation.fileFormat.buildReaderWithPartitionValues(
        session,
        relation.dataSchema,
        scan.readPartitionSchema,
        ofFiles,
        scan.pushedFilters.toSeq,
        options + (FileFormat.OPTION_RETURNING_BATCH -> columnar.toString),
        session.sessionState.newHadoopConfWithOptions(options)
      ),
      all,
      marks.headOption.map(mark => ofFiles.fieldIndex(mark.name)),
      all.indices.filterNot(i => marks.contains(all(i))),
      columnar,
      new FileSourceOptions(CaseInsensitiveMap(options))
    )
    new ReadersWhenRun(columnar, () => readers)
  }
}
