package io.tamis.remote

import io.tamis.conf.TamisConf
import io.tamis.wire.{Applied, ExpressionWriter, RemoteAnswer}

import org.apache.spark.sql.catalyst.expressions.{
  Cast,
  EqualNullSafe,
  Expression,
  If,
  Literal,
  RaiseError
}
import org.apache.spark.sql.connector.expressions.{
  NamedReference,
  NullOrdering,
  SortDirection,
  SortOrder
}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex
import org.apache.spark.sql.execution.datasources.v2.FileScanBuilder
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BooleanType, StructType}

/** It is a FileScanBuilder for the same reason as [[io.tamis.scan.TamisScanBuilder]]: on 4.0 only
  * its subclasses receive whole Catalyst expressions.
  */
final class RemoteScanBuilder(table: RemoteTable)
    extends FileScanBuilder(
      table.session,
      new InMemoryFileIndex(table.session, Nil, Map.empty, None),
      table.schema
    )
    with SupportsPushDownLimit
    with SupportsPushDownTopN {

  private val verifies = TamisConf.remoteVerifyEnabled(SQLConf.get)
  private var request = RemoteRequest(table.schema, verify = verifies)
  private var answer: Option[RemoteAnswer] = None
  private var residual: Seq[Expression] = Nil

  /** Returns the filters that Spark still applies: all that the source does not apply exactly. */
  override def pushFilters(filters: Seq[Expression]): Seq[Expression] = {
    val (sent, kept) = filters.partition(!_.exists(!ExpressionWriter.isPlain(_)))
    val known = AskSource(table, sent, columnsForOptimizer(table.schema))
    answer = Some(known)
    val how = sent.zip(known.applied)
    val exact = how.collect { case (filter, Applied.Exactly) => filter }
    val optional = how.collect { case (filter, Applied.Partly) => filter }
    request = request.copy(filters = filters.size, required = exact, optional = optional)
    val verified = if (verifies) exact.map(verify(known, _)) else Nil
    residual = filters.filter(each => !exact.exists(_ eq each))
    residual ++ verified
  }

  override def pushedFilters: Array[V2Predicate] = Array.empty

  /** A filter that fails the query at the first row for which `exact` is not true. */
  private def verify(known: RemoteAnswer, exact: Expression): Expression = {
    val text = s"${known.label}: reading failed: the server has declared that it applies " +
      s"${ExpressionWriter.sqlOf(exact)} exactly, but it returned a row that does not satisfy " +
      "it. Report this to the operator of the server. To let Spark apply all filters itself, set " +
      "spark.tamis.enabled=false."
    If(
      EqualNullSafe(exact, Literal.TrueLiteral),
      Literal.TrueLiteral,
      Cast(new RaiseError(Literal(text)), BooleanType)
    )
  }

  /** Keeps a column even if the query needs none: batches without columns have no number of rows.
    */
  override def pruneColumns(required: StructType): Unit = {
    val names = required.fieldNames.toSet
    val columns = table.schema.filter(field => names(field.name))
    request =
      request.copy(columns = StructType(if (columns.isEmpty) table.schema.take(1) else columns))
  }

  /** Each part returns at most this many rows. */
  override def pushLimit(limit: Int): Boolean = {
    request = request.copy(limit = Some(limit))
    true
  }

  /** Each part returns at least the rows that are among the first ones. */
  override def pushTopN(orders: Array[SortOrder], limit: Int): Boolean = {
    val keys = orders.toSeq.collect { case Key(order) => order }
    val known = keys.size == orders.length
    if (known) request = request.copy(limit = Some(limit), order = keys)
    known
  }

  /** A sort key that is a column of the table. */
  private object Key {
    def unapply(order: SortOrder): Option[RemoteOrder] = order.expression match {
      case column: NamedReference if column.fieldNames.length == 1 =>
        Some(column.fieldNames.head).filter(table.schema.fieldNames.contains).map { name =>
          val isDescending = order.direction == SortDirection.DESCENDING
          RemoteOrder(name, isDescending, order.nullOrdering == NullOrdering.NULLS_FIRST)
        }
      case _ => None
    }
  }

  /** Spark sorts and limits the rows of all parts. */
  override def isPartiallyPushed(): Boolean = true

  override def build(): Scan = {
    val known = answer.getOrElse(AskSource(table, Nil, columnsForOptimizer(request.columns)))
    known.files.filterNot(_ => known.isEmpty) match {
      case Some(files) =>
        RemoteFiles.scan(table, files, request.columns, residual, known.label)
      case None => new RemoteScan(table, request, known)
    }
  }

  /** Spark's optimizer uses statistics of columns only if it is asked to. */
  private def columnsForOptimizer(columns: StructType): Seq[String] =
    if (SQLConf.get.cboEnabled) columns.fieldNames.toSeq else Nil
}
