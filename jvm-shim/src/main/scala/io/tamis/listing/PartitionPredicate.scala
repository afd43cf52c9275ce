package io.tamis.listing

import io.tamis.wire.ExpressionWriter
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.types.StructType

/** Conjuncts over partition columns alone, evaluated by Spark itself as in its own scan. They are
  * always exact.
  */
object PartitionPredicate {

  /** Whether the expression reads only partition columns and depends only on the row. */
  def isPartitionOnly(e: Expression, partitionSchema: StructType): Boolean = {
    val names = partitionSchema.fieldNames.toSet
    e.references.nonEmpty && e.references.forall(a => names(a.name)) && isPlainThroughout(e)
  }

  private def isPlainThroughout(e: Expression): Boolean =
    !e.exists {
      case _: AttributeReference => false // unevaluable until it is bound
      case x                     => !ExpressionWriter.isPlain(x) || x.isInstanceOf[Unevaluable]
    }

  /** A test of the values of one partition. It raises if Spark's evaluation raises; see
    * `evaluable`.
    */
  def of(conjuncts: Seq[Expression], partitionSchema: StructType): InternalRow => Boolean = {
    val bound = conjuncts.map(bind(_, partitionSchema)).map(Predicate.createInterpreted)
    row => bound.forall(_.eval(row))
  }

  /** The conjuncts that can be evaluated on every one of these rows without an error. Spark
    * evaluates the others on the rows, where they raise as in plain Spark.
    */
  def evaluable(
      conjuncts: Seq[Expression],
      partitionSchema: StructType,
      rows: Iterable[InternalRow]
  ): Seq[Expression] =
    conjuncts.filter { conjunct =>
      try { val test = of(Seq(conjunct), partitionSchema); rows.foreach(test); true }
      catch { case NonFatal(_) => false }
    }

  private def bind(e: Expression, partitionSchema: StructType): Expression = e.transform {
    case a: AttributeReference =>
      val i = partitionSchema.fieldIndex(a.name)
      BoundReference(i, partitionSchema(i).dataType, nullable = true)
  }

  /** A test for those of Spark's run-time filters that are a [[ColumnIn]]. Filters of any other
    * form pass everything.
    */
  def ofRuntime(
      predicates: Seq[V2Predicate],
      partitionSchema: StructType
  ): InternalRow => Boolean = {
    val tests = predicates.collect {
      case ColumnIn(name, values) if partitionSchema.fieldNames.contains(name) =>
        val i = partitionSchema.fieldIndex(name)
        val column = BoundReference(i, partitionSchema(i).dataType, nullable = true)
        Predicate.createInterpreted(InSet(column, values.toSet))
    }
    row => tests.forall(_.eval(row))
  }
}
