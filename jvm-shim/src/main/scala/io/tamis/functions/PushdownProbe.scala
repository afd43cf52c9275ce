package io.tamis.functions

import io.tamis.listing.QuotedName
import io.tamis.wire.ExpressionWriter
import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.expressions.{
  Expressions,
  Literal => V2Literal,
  NamedReference,
  SortOrder
}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex
import org.apache.spark.sql.execution.datasources.v2.FileScanBuilder
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/** A table with the columns of another table, all NULL, and its own columns that show what was
  * pushed. It reports every filter over the other columns as applied, so that its row is not lost.
  */
final class PushdownProbe(session: SparkSession, of: String, columns: StructType)
    extends Table
    with SupportsRead {

  override def name(): String = s"tamis_pushdown('$of')"
  override val schema: StructType = StructType(
    columns.fields.map(_.copy(nullable = true)) ++ PushdownProbe.Own
  )
  require(
    schema.fieldNames.toSet.size == schema.size,
    s"tamis_pushdown cannot be used on $of, which has a column with one of these names: " +
      PushdownProbe.Own.map(_.name).mkString(", ")
  )

  override def capabilities(): util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new ProbeScanBuilder(session, schema)
}

object PushdownProbe {
  private val texts = ArrayType(StringType, containsNull = false)

  /** The columns that show what was pushed. */
  val Own: Seq[StructField] = Seq(
    StructField("pushed_filters", texts),
    StructField("pushed_columns", texts),
    StructField("pushed_limit", IntegerType),
    StructField("pushed_order", texts),
    StructField("pushed_runtime_filters", texts)
  )

  /** Their names. */
  val OwnNames: Set[String] = Own.map(_.name).toSet
}

/** A FileScanBuilder, because Spark hands it whole Catalyst expressions, as it does to the one of
  * tamis.
  */
final class ProbeScanBuilder(session: SparkSession, schema: StructType)
    extends FileScanBuilder(
      session,
      new InMemoryFileIndex(session, Nil, Map.empty, Some(schema)),
      schema
    )
    with SupportsPushDownLimit
    with SupportsPushDownTopN {

  private var pushed = Pushed(schema, Nil, None, Nil)

  override def pushFilters(filters: Seq[Expression]): Seq[Expression] = {
    val (ofOwn, pushable) =
      filters.partition(_.references.exists(a => PushdownProbe.OwnNames(a.name)))
    pushed = pushed.copy(filters = pushable.map(ExpressionWriter.sqlOf))
    ofOwn
  }
  override def pushedFilters: Array[V2Predicate] = Array.empty
  override def pruneColumns(required: StructType): Unit = pushed = pushed.copy(columns = required)
  override def pushLimit(limit: Int): Boolean = { pushed = pushed.copy(limit = Some(limit)); true }
  override def pushTopN(orders: Array[SortOrder], limit: Int): Boolean = {
    pushed = pushed.copy(limit = Some(limit), order = orders.map(_.describe).toSeq)
    true
  }
  override def isPartiallyPushed: Boolean = true
  override def build(): Scan = new ProbeScan(pushed)
}

final case class Pushed(
    columns: StructType,
    filters: Seq[String],
    limit: Option[Int],
    order: Seq[String]
)

/** One row, produced when the query runs: by then the run-time filters are known. */
final class ProbeScan(pushed: Pushed) extends Scan with Batch with SupportsRuntimeV2Filtering {
  @volatile private var atRunTime: Seq[V2Predicate] = Nil

  override def readSchema(): StructType = pushed.columns
  override def toBatch: Batch = this
  override def description(): String = s"tamis_pushdown $pushed"

  override def filterAttributes(): Array[NamedReference] =
    pushed.columns.fieldNames.filterNot(PushdownProbe.OwnNames).map { name =>
      Expressions.column(QuotedName(name)): NamedReference
    }
  override def filter(predicates: Array[V2Predicate]): Unit =
    atRunTime = predicates.toSeq

  override def planInputPartitions(): Array[InputPartition] = Array(ProbePartition(row))
  override def createReaderFactory(): PartitionReaderFactory = ProbeReaderFactory

  private def row: InternalRow = InternalRow.fromSeq(pushed.columns.fields.toSeq.map(_.name).map {
    case "pushed_filters" => texts(pushed.filters)
    case "pushed_columns" =>
      texts(pushed.columns.fieldNames.toSeq.filterNot(PushdownProbe.OwnNames))
    case "pushed_limit"           => pushed.limit.map(Int.box).orNull
    case "pushed_order"           => texts(pushed.order)
    case "pushed_runtime_filters" => texts(atRunTime.map(_.describe))
    case column                   => partnerOf(column)
  })

  /** The value that a run-time filter of a join requires of the column: with NULL the row would not
    * match.
    */
  private def partnerOf(column: String): Any = atRunTime
    .map(_.children.toSeq)
    .collectFirst {
      case Seq(r: NamedReference, value: V2Literal[_], _*) if isOf(r, column) => value
    }
    .map(_.value)
    .orNull

  private def isOf(reference: NamedReference, column: String): Boolean =
    reference.fieldNames.toSeq == Seq(column)

  private def texts(all: Seq[String]): ArrayData =
    new GenericArrayData(all.map(UTF8String.fromString).toArray[Any])
}

final case class ProbePartition(row: InternalRow) extends InputPartition

object ProbeReaderFactory extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new PartitionReader[InternalRow] {
      private val rows = Iterator(partition.asInstanceOf[ProbePartition].row)
      private var current: InternalRow = _
      override def next(): Boolean = {
        val more = rows.hasNext; if (more) current = rows.next(); more
      }
      override def get(): InternalRow = current
      override def close(): Unit = ()
    }
}
