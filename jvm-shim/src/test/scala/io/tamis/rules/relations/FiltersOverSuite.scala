package io.tamis.rules.relations

import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, Rand}
import org.apache.spark.sql.catalyst.plans.logical.{
  Filter,
  LocalRelation,
  LogicalPlan,
  Project,
  Union
}
import org.apache.spark.sql.types.IntegerType

class FiltersOverSuite extends munit.FunSuite {
  private val a = AttributeReference("a", IntegerType)()
  private val b = AttributeReference("b", IntegerType)()
  private val leaf = LocalRelation(a, b)
  private val other = LocalRelation(a.newInstance(), b.newInstance())

  private def of(plan: LogicalPlan): Seq[Expression] = new FiltersOver(plan)(leaf)

  test("the conjuncts of a filter directly over a relation hold for it") {
    val (one, two) = (a > 1, b > 2)
    assert(of(Filter(one && two, leaf)) == Seq(one, two))
    assert(of(Union(Filter(one, leaf), other)) == Seq(one))
    assert(of(Filter(one, Project(Seq(a), leaf))).isEmpty)
    assert(of(leaf).isEmpty)
  }

  test("a relation at two places needs the rows of both") {
    val filtered = Filter(a > 1, leaf)
    assert(of(Union(filtered, Filter(a < 1, leaf))).isEmpty)
    assert(of(Union(filtered, leaf)).isEmpty)
    assert(of(Union(leaf, filtered)).isEmpty)
    assert(of(Union(Seq(filtered, Filter(a < 1, leaf), Filter(b < 1, leaf)))).isEmpty)
  }

  test("a condition that may depend on the rows that are read says nothing") {
    val random = new Rand(org.apache.spark.sql.catalyst.expressions.Literal(1L)) > 0.5
    assert(of(Filter(a > 1 && random, leaf)).isEmpty)
  }
}
