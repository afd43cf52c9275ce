package io.tamis.scan

import io.tamis.conf.TamisConf
import io.tamis.listing.QuotedName
import io.tamis.planning.{
  Clustering,
  Decision,
  FileSelection,
  KeptStatistics,
  OptimizerFacts,
  ReportedStatistics,
  ScanConstraints
}
import io.tamis.remember.{Learner, NotingReaders}
import io.tamis.runtime.RuntimePruning

import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference, SortOrder}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.partitioning.{KeyGroupedPartitioning, Partitioning}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.internal.connector.SupportsMetadata
import org.apache.spark.sql.types.{StructField, StructType}

/** A scan of the surviving files, in most cases by Spark's own vectorized Parquet reader. */
final class TamisScan(
    val table: TamisTable,
    val decision: Decision,
    val required: StructType,
    val learner: Option[Learner] = None
) extends Scan
    with SupportsReportStatistics
    with SupportsReportPartitioning
    with SupportsReportOrdering
    with SupportsMetadata
    with SupportsRuntimeV2Filtering {

  /** The same files and filters with these columns. */
  def reading(columns: StructType): TamisScan = new TamisScan(table, decision, columns)

  /** The same scan, which notes what its tasks read: those that are planned already. */
  def learning(from: Learner): TamisScan = new TamisScan(table, decision, required, Some(from))

  private val files: FilesScan = table.reader.scan(table, decision, required)

  override def readSchema(): StructType = files.readSchema

  /** If the partitions decide, Spark asks for them when it plans the query, which would read the
    * samples. So those of all kept files decide: the others are parts of these.
    */
  override def columnarSupportMode(): Scan.ColumnarSupportMode = files.columnarSupportMode match {
    case Scan.ColumnarSupportMode.PARTITION_DEFINED if table.purpose.boundary.isDefined =>
      val (columnar, rows) = files.partitions.partition(readers.supportColumnarReads)
      if (columnar.isEmpty) Scan.ColumnarSupportMode.UNSUPPORTED
      else if (rows.isEmpty) Scan.ColumnarSupportMode.SUPPORTED
      else Scan.ColumnarSupportMode.PARTITION_DEFINED
    case mode => mode
  }

  override def outputPartitioning(): Partitioning = files.partitioning
  override def outputOrdering(): Array[SortOrder] = files.ordering.toArray
  override def toBatch: Batch = new TamisBatch(this, takeRuntimeFilters())

  /** Created once, because Spark asks every copy of the scan's node for it. Run-time filters choose
    * other files and do not change how they are read.
    */
  private[tamis] lazy val readers: PartitionReaderFactory =
    learner.fold(files.readers)(new NotingReaders(files.readers, _))

  /** The statistics that Spark would use for its V1 relation over these files, projected to these
    * columns, so that joins keep their strategies.
    *
    * If Spark estimates rows, these are the results of ANALYZE TABLE and what indexes know
    * ([[OptimizerFacts]]), adjusted to the rows that are kept. Spark uses them only if one of
    * `spark.sql.cbo.enabled` and `spark.sql.cbo.planStats.enabled` is set. Without either, Spark
    * then estimates sizes only, so this reports no row count.
    */
  override def estimateStatistics(): Statistics =
    files.statistics.getOrElse(ofSpark)

  private def ofSpark: Statistics = {
    val conf = SQLConf.get
    if (conf.cboEnabled || conf.planStatsEnabled) estimated.getOrElse(ofFiles(None))
    else ofFiles(decision.keptRecords)
  }

  /** Spark's V2 scan estimates a smaller size for a narrow projection, and would broadcast what is
    * shuffled without tamis.
    */
  private def ofFiles(rows: Option[Long]): Statistics = {
    val factor = SQLConf.get.fileCompressionFactor * rowSize(readSchema()) / rowSize(table.schema)
    ReportedStatistics.ofSize((decision.kept.bytes * factor).toLong, rows)
  }

  /** None if no row count is known. Computed once, because Spark asks again for each copy of a
    * plan.
    */
  private lazy val estimated: Option[Statistics] = {
    val (names, used) = (
      readSchema().fieldNames.toSet,
      decision.conjuncts.flatMap(_.expression.references).map(_.name).toSet
    )
    val columns = table.schema
      .filter(f => names(f.name) || used(f.name))
      .map(f => AttributeReference(f.name, f.dataType, f.nullable, f.metadata)())
    for {
      whole <- OptimizerFacts.of(table, decision.kept.listing, columns)
      kept <- KeptStatistics.of(whole, columns, decision, isConfined)
    } yield ReportedStatistics(kept, columns.filter(c => names(c.name)))
  }

  private def isConfined: Boolean = table.purpose.within.isDefined && !decision.isObserved

  /** The size of a row if only the types are known (EstimationUtils.getSizePerRow). */
  private def rowSize(columns: StructType): Long = 8L + columns.map(_.dataType.defaultSize).sum

  // ---- run-time filters ----

  /** Partition columns, as in Spark's V1 scan, and columns that the files are clustered by, except
    * those that are left to Bloom filters. For other columns Spark would evaluate a subquery that
    * rules no file out. Empty in a recursive query, where Spark cannot plan run-time filters.
    */
  override def filterAttributes(): Array[NamedReference] = offered.toArray

  /** Chosen once, because Spark asks for each key of each join. */
  private lazy val offered: Seq[NamedReference] =
    if (table.purpose.inRecursion) Nil
    else {
      val partitions = table.relation.partitionSchema.fieldNames.toSet
      val (ofPartitions, ofFiles) = readSchema().fields.partition(f => partitions(f.name))
      val clustered =
        if (TamisConf.runtimeFiltersEnabled(SQLConf.get)) clusteredBy(ofFiles.toSeq) else Nil
      val columns =
        (ofPartitions ++ clustered).map(f => Expressions.column(QuotedName(f.name)): NamedReference)
      (columns.toSeq ++ files.filterAttributes).distinctBy(_.fieldNames.toSeq)
    }

  private def clusteredBy(fields: Seq[StructField]): Seq[StructField] = {
    val offered = fields.filterNot(f => table.purpose.leftToBloomFilters(f.name))
    val columns = offered.map(f => AttributeReference(f.name, f.dataType)())
    offered.zip(Clustering.of(table.within(decision.kept), Nil, columns)).collect {
      case (field, true) => field
    }
  }

  /** The filters of each caller: Spark calls `filter` and then `toBatch` in one thread, and several
    * threads may share a scan.
    */
  private val runtimeFilters = new ThreadLocal[Seq[V2Predicate]]
  @volatile private var ranWith: Option[(FileSelection, FilesScan)] = None

  override def filter(predicates: Array[V2Predicate]): Unit = runtimeFilters.set(predicates.toSeq)

  /** What remains to be read. Called when the tasks are planned, which is when the query runs,
    * except for a grouped scan: Spark plans its tasks earlier, so it reads no samples.
    */
  private[scan] def remaining(predicates: Seq[V2Predicate]): FilesScan = {
    val isGrouped = outputPartitioning().isInstanceOf[KeyGroupedPartitioning]
    val boundary = table.purpose.boundary.filterNot(_ => isGrouped)
    if (predicates.isEmpty && boundary.isEmpty) files
    else {
      val kept = new RuntimePruning(table, decision.kept, boundary)(predicates)
      val left = files.filtered(kept, predicates.filter(RuntimePruning.isOfSpark))
      ranWith = Some(kept -> left)
      left
    }
  }

  /** The kept files that remained after the last run-time filters; None if none has been applied.
    */
  def runtimeKept: Option[FileSelection] = ranWith.map(_._1)

  private def takeRuntimeFilters(): Seq[V2Predicate] = {
    val filters = Option(runtimeFilters.get).getOrElse(Nil)
    runtimeFilters.remove()
    filters
  }

  // ---- what users see ----

  override def description(): String =
    "Tamis " + metadata.map { case (key, value) => s"$key: $value" }.mkString(", ")

  override def getMetaData(): Map[String, String] = files.metadata ++ metadata

  private def metadata: Seq[(String, String)] = {
    val shown = decision.shown
    val sizes = shown.sizes
    val texts = Seq(
      "Files" -> sizes.files,
      "RowGroups" -> sizes.rowGroups,
      "Rows" -> sizes.rows,
      "Bytes" -> sizes.bytes
    )
    observed.toSeq ++
      texts.flatMap { case (name, kept) => kept.text.map(name -> _) } ++ Seq(
        "Exact" -> shown.exactSql.mkString("[", ", ", "]"),
        "Residual" -> shown.residualSql.mkString("[", ", ", "]"),
        "Implied" -> shown.impliedSql.mkString("[", ", ", "]"),
        "Planning" -> f"${shown.planningMillis}%.1f ms"
      ) ++ remembered ++ rememberedTrue ++ goals ++
      table.purpose.boundary.map("Awaits" -> _.text) ++ decision.fallback.map("Fallback" -> _)
  }

  /** In the mode `observe` all entries after this one describe what would have been read. */
  private def observed: Option[(String, String)] = Option.when(decision.isObserved)(
    "Observed" -> s"not applied, ${decision.filesText} files are read"
  )

  private def remembered: Option[(String, String)] =
    decision.shown.rememberedText.map { what =>
      "Remembered" -> s"$what left out, because an earlier query found no row in them"
    }

  private def rememberedTrue: Option[(String, String)] =
    decision.shown.rememberedTrueText.map { what =>
      "RememberedTrue" -> s"$what, because an earlier query found them true for every row"
    }

  private def goals: Option[(String, String)] = {
    val texts =
      table.purpose.goals.map(g => g.text + g.reason.fold("")(r => s": no effect, ${r.text}"))
    if (texts.isEmpty) None else Some("Goals" -> texts.mkString("[", "; ", "]"))
  }

  override def supportedCustomMetrics(): Array[CustomMetric] = ScanMetrics.shown(decision)
  override def reportDriverMetrics(): Array[CustomTaskMetric] = {
    val (kept, read) = ranWith.getOrElse(decision.kept -> files)
    ScanMetrics.of(decision, read.filesRead.getOrElse(kept.count))
  }

  /** Two scans read the same rows if they read the same files and columns with the same residual,
    * and leave out the same files when they run; exact conjuncts are true for every row of the
    * files and make no difference. Scans that offer different columns to run-time filters, group or
    * order rows differently, or show other files, are not equal: the optimizer keeps the old node
    * if a rule returns an equal one.
    */
  override def equals(other: Any): Boolean = other match {
    case scan: TamisScan =>
      def offered(purpose: ScanConstraints) = (
        purpose.inRecursion,
        purpose.leftToBloomFilters,
        purpose.groupedBy,
        purpose.sortedBy,
        purpose.boundary
      )
      files == scan.filesScan && offered(table.purpose) == offered(scan.table.purpose) &&
      decision.observed.map(_.kept) == scan.decision.observed.map(_.kept)
    case _ => false
  }
  private def filesScan: FilesScan = files
  override def hashCode(): Int = files.hashCode()
}

/** The partitions of what remains after run-time filters; equality compares what is read without
  * them.
  */
final class TamisBatch(val scan: TamisScan, filters: Seq[V2Predicate]) extends Batch {
  override def planInputPartitions(): Array[InputPartition] =
    scan.learner.fold(scan.remaining(filters).partitions)(_.partitions.toArray)
  override def createReaderFactory(): PartitionReaderFactory = scan.readers

  /** Spark itself compares run-time filters, so comparing the static scans is enough. */
  override def equals(other: Any): Boolean = other match {
    case batch: TamisBatch => scan == batch.scan
    case _                 => false
  }
  override def hashCode(): Int = scan.hashCode()
}
