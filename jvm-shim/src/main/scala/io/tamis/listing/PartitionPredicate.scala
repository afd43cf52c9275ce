package io.tamis.listing

import io.tamis.bridge.AnyFailure

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.connector.expressions.filter.{Predicate => V2Predicate}
import org.apache.spark.sql.types.StructType

/** Predicates over partition columns alone, evaluated by Spark itself as in its own scan. A
  * conjunct of this kind is always exact.
  */
object PartitionPredicate {

  /** Whether the expression reads only partition columns, and Spark's own scan would evaluate it on
    * their values: user-defined functions included, if the driver can run them.
    */
  def isPartitionOnly(e: Expression, partitionSchema: StructType): Boolean = {
    // not `references`: columns of a condition that a scan receives have no ids of their own
    val columns = e.collect { case a: Attribute => a.name }
    columns.nonEmpty && columns.forall(partitionSchema.fieldNames.contains) && isEvaluable(e)
  }

  private def isEvaluable(e: Expression): Boolean = e.deterministic && !e.exists {
    case _: AttributeReference                     => false // bound later
    case _: SubqueryExpression | _: OuterReference => true
    case _: DynamicPruning | _: Unevaluable        => true
    case _                                         => false
  }

  /** A predicate over partition columns alone that is true wherever the conjunct is: what Spark
    * extracts from a conjunct over other columns, too. None if there is no such predicate.
    *
    * An AND is true only if both sides are, so what each side implies holds. An OR is true only if
    * one side is, so one of the two implied predicates holds, provided that both sides imply one.
    */
  def impliedBy(conjunct: Expression, partitionSchema: StructType): Option[Expression] =
    // Spark's own scan does not look into a conjunct that may give another value each time
    if (partitionSchema.isEmpty || !conjunct.deterministic) None
    else impliedBy(conjunct, isPartitionOnly(_, partitionSchema))

  /** The same with another test of what is over partition columns alone. */
  def impliedBy(conjunct: Expression, isOfPartitions: Expression => Boolean): Option[Expression] =
    conjunct match {
      case e if isOfPartitions(e) => Some(e)
      case And(left, right)       =>
        Seq(left, right).flatMap(impliedBy(_, isOfPartitions)).reduceOption(And(_, _))
      case Or(left, right) =>
        for {
          l <- impliedBy(left, isOfPartitions)
          r <- impliedBy(right, isOfPartitions)
        } yield Or(l, r)
      case _ => None
    }

  /** A test of the values of one partition. It raises if Spark's evaluation raises. */
  def of(conjuncts: Seq[Expression], partitionSchema: StructType): InternalRow => Boolean = {
    val bound = conjuncts.map(bind(_, partitionSchema)).map(Predicate.createInterpreted)
    row => bound.forall(_.eval(row))
  }

  /** Which of these rows satisfy the predicate. None if its evaluation raises for one of them: then
    * Spark evaluates it on the rows of the files, where it raises as in plain Spark.
    *
    * @param among
    *   the rows to look at; the others count as not satisfying it
    */
  def onEach(
      predicate: Expression,
      partitionSchema: StructType,
      rows: Array[InternalRow],
      among: Int => Boolean = _ => true
  ): Option[Array[Boolean]] =
    try {
      val test = of(Seq(predicate), partitionSchema)
      Some(rows.indices.map(i => among(i) && test(rows(i))).toArray)
    } catch { case AnyFailure(_) => None }

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
