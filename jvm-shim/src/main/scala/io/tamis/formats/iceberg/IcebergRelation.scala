package io.tamis.formats.iceberg

import io.tamis.bridge.PlannerUnavailable
import io.tamis.formats.{IndexedFiles, PathTable}
import io.tamis.scan.TamisTable
import io.tamis.wire.{Reason, Reasons}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{StructField, StructType}

/** Takes over relations of Iceberg. */
object IcebergRelation {

  def isOne(table: Table): Boolean = IcebergTable.isOne(table)

  /** The same relation over a table of tamis, or why it stays Iceberg's own.
    *
    * @param conjuncts
    *   predicates that are true of every row of the relation that is needed: the table may lack
    *   other rows
    */
  def taken(
      session: SparkSession,
      relation: DataSourceV2Relation,
      conjuncts: Seq[Expression]
  ): Either[Reason, LogicalPlan] =
    for {
      table <- IcebergTable.of(relation.table)
      _ <- refusal(relation, table).toLeft(())
      files <- filesOf(session, table, relation.output, conjuncts)
    } yield {
      val read = new TamisTable(
        session,
        asFiles(session, relation.output, files),
        None,
        reader = new IcebergReader(table, files, relation.options),
        title = Some(table.name)
      )
      TamisTable.in(relation, read)
    }

  /** The data files of a table, for their index.
    *
    * @throws java.lang.IllegalArgumentException
    *   tamis does not look into the table
    */
  def indexed(session: SparkSession, relation: DataSourceV2Relation): IndexedFiles =
    IcebergTable.of(relation.table) match {
      case Right(known)  => new IndexedIceberg(session, known, relation.schema)
      case Left(refusal) =>
        throw new IllegalArgumentException(
          s"no statistics index can be built over ${relation.table.name()}: ${refusal.sentence}"
        )
    }

  /** Whether a path is that of a table which Iceberg finds without a catalog. */
  def isTable(session: SparkSession, path: String): Boolean =
    PathTable.isOne(session, path, IcebergTable.OfSpark, "metadata/version-hint.text")

  /** Options of the reader that do not change which rows are read, or how. */
  private val Harmless = Set("path")

  /** Metadata columns of rows that are read. Spark adds them to a relation in the query by which a
    * command finds the files that it replaces; to queries of users it adds all, also `_deleted`,
    * which shows deleted rows.
    */
  private val OfRows =
    Set("_file", "_pos", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number")

  private def refusal(relation: DataSourceV2Relation, table: IcebergTable): Option[Reason] = {
    val options = new java.util.TreeSet(relation.options.keySet)
    options.removeIf(Harmless(_))
    val columns = relation.table.columns.map(_.name).toSet
    table.refusal
      .orElse(Option.when(!options.isEmpty) {
        Reasons("ICEBERG_READ_OPTIONS", "options" -> String.join(", ", options))
      })
      .orElse(Option.when(!relation.output.forall(a => columns(a.name) || OfRows(a.name))) {
        Reasons("ICEBERG_METADATA_COLUMNS")
      })
  }

  private[iceberg] def filesOf(
      session: SparkSession,
      table: IcebergTable,
      columns: Seq[Attribute],
      conjuncts: Seq[Expression],
      among: Option[Set[String]] = None
  ): Either[Reason, IcebergFiles] =
    try IcebergFiles.of(session, table, columns, conjuncts, among).left.map(unreadable)
    catch { case e: PlannerUnavailable => Left(unreadable(e.getMessage)) }

  private def unreadable(why: String): Reason = Reasons("ICEBERG_UNREADABLE", "error" -> why)

  /** The files as a relation of Spark, which only the planner looks at. */
  private[iceberg] def asFiles(
      session: SparkSession,
      columns: Seq[Attribute],
      files: IcebergFiles
  ): HadoopFsRelation =
    HadoopFsRelation(
      files.index,
      new StructType(),
      StructType(columns.map(a => StructField(a.name, a.dataType, a.nullable))),
      None,
      new ParquetFileFormat,
      Map.empty
    )(session.asInstanceOf[ClassicSession])
}
