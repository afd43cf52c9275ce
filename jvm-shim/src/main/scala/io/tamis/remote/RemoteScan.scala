package io.tamis.remote

import io.tamis.conf.TamisConf
import io.tamis.listing.{ColumnIn, QuotedName}
import io.tamis.planning.ReportedStatistics
import io.tamis.runtime.RuntimeValues
import io.tamis.wire.{ExpressionWriter, ImpliedReader, RemoteAnswer, TypeSets}

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeMap,
  AttributeReference,
  Expression,
  In
}
import org.apache.spark.sql.catalyst.plans.logical.{ColumnStat, Statistics => PlanStatistics}
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.internal.connector.SupportsMetadata
import org.apache.spark.sql.types.StructType

/** A scan of a remote table, whose parts are read in Python processes. */
final class RemoteScan(val table: RemoteTable, request: RemoteRequest, known: RemoteAnswer)
    extends Scan
    with SupportsMetadata
    with SupportsReportStatistics
    with SupportsRuntimeV2Filtering {

  private val options = request.options(table.schema)

  /** The same scan, which takes no join keys. */
  def withoutKeys: RemoteScan = new RemoteScan(table.withoutKeys, request, known)

  override def toBatch: Batch = {
    val keys = takeKeys()
    if (known.isEmpty) new RemoteBatch(this, None)
    else new RemoteBatch(this, Some(if (keys.isEmpty) request else request.copy(keys = keys)))
  }

  private[remote] def parts(ofQuery: RemoteRequest): Seq[RemotePart] =
    AskTasks(table, ofQuery, known.label, tasks)

  /** Tasks of the size that Spark gives to tasks that read files, and at least two for each core,
    * in case the parts differ in size. None: the size of the table is unknown. Some servers report
    * zero rows for what they do not know.
    */
  private def tasks: Option[Long] = known.rows.filter(_ > 0).map { rows =>
    val conf = SQLConf.get
    val cores = conf
      .getConf(SQLConf.LEAF_NODE_DEFAULT_PARALLELISM)
      .getOrElse(table.session.sparkContext.defaultParallelism)
    val bytes = BigInt(rows) * request.columns.defaultSize
    (bytes / conf.filesMaxPartitionBytes + 1).max(2L * cores).min(Int.MaxValue).toLong
  }

  override def readSchema(): StructType = request.columns
  override def description(): String = table.format
  override def columnarSupportMode(): Scan.ColumnarSupportMode =
    Scan.ColumnarSupportMode.SUPPORTED
  override def getMetaData(): Map[String, String] = Map(
    "Exact" -> shown(request.required),
    "Filters" -> shown(request.optional),
    "Limit" -> request.limit.fold("none")(_.toString)
  ) ++ Option.when(request.order.nonEmpty)(
    "Order" -> request.order.map(_.text).mkString("[", ", ", "]")
  ) ++ Option.when(known.isEmpty)(
    "Empty" -> "no row passes the filters, according to the server's statistics"
  )

  /** How many filters are sent, of how many. */
  def sentFilters: (Int, Int) =
    (request.required.size + request.optional.size, request.filters)

  private def shown(filters: Seq[Expression]): String =
    filters.map(ExpressionWriter.sqlOf).mkString("[", ", ", "]")

  // ---- what the optimizer gets ----

  override def estimateStatistics(): Statistics = known.rows match {
    case Some(rows) =>
      val columns = request.columns.map(f => AttributeReference(f.name, f.dataType)())
      val statistics = AttributeMap(columns.flatMap(c => columnStatistic(c).map(c -> _)))
      ReportedStatistics(PlanStatistics(0, Some(rows), statistics), columns)
    case None => ReportedStatistics.ofSize(SQLConf.get.defaultSizeInBytes, None)
  }

  private def columnStatistic(column: Attribute): Option[ColumnStat] =
    known.columns.get(column.name).map { c =>
      def bound(node: JsonNode): Option[Any] =
        ImpliedReader.constant(node, column.dataType).map(_.value)
      ColumnStat(c.distinct.map(BigInt(_)), bound(c.minimum), bound(c.maximum))
    }

  // ---- join keys ----

  /** Spark plans a run-time filter for these columns only if a join broadcasts the keys anyway. */
  override def filterAttributes(): Array[NamedReference] =
    if (!table.takesKeys || !TamisConf.runtimeFiltersEnabled(SQLConf.get)) Array.empty
    else
      request.columns
        .filter(f => TypeSets.areEqualAsInScala(f.dataType))
        .map(f => Expressions.column(QuotedName(f.name)): NamedReference)
        .toArray

  /** The keys of each caller: Spark calls `filter` and then `toBatch` in one thread, and several
    * threads may share a scan.
    */
  private val runtimeKeys = new ThreadLocal[Seq[Expression]]

  override def filter(predicates: Array[V2Predicate]): Unit =
    runtimeKeys.set(
      predicates.toSeq
        .collect {
          case ColumnIn(name, values) if request.columns.fieldNames.contains(name) =>
            val field = request.columns(name)
            RuntimeValues.in(AttributeReference(name, field.dataType)(), values)
        }
        .collect { case keys: In => keys }
    )

  private def takeKeys(): Seq[Expression] = {
    val keys = Option(runtimeKeys.get).getOrElse(Nil)
    runtimeKeys.remove()
    keys
  }

  /** Equal scans return the same rows, so that Spark reads a table once where it can. */
  private def identity = (table, options, request.columns, known.isEmpty)
  override def equals(other: Any): Boolean = other match {
    case scan: RemoteScan => identity == scan.identity
    case _                => false
  }
  override def hashCode(): Int = (table, request.columns).hashCode()
}

/** @param request
  *   None: the scan has no row
  */
final class RemoteBatch(val scan: RemoteScan, request: Option[RemoteRequest]) extends Batch {
  private lazy val parts: Array[InputPartition] = request.toArray.flatMap(scan.parts(_))

  override def planInputPartitions(): Array[InputPartition] = {
    if (parts.nonEmpty) ExecutorJar.ship(scan.table.session.sparkContext)
    parts
  }
  override def createReaderFactory(): PartitionReaderFactory = RemoteReaderFactory
  override def equals(other: Any): Boolean = other match {
    case batch: RemoteBatch => scan == batch.scan
    case _                  => false
  }
  override def hashCode(): Int = scan.hashCode()
}
