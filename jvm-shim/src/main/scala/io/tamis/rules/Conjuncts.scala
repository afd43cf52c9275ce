package io.tamis.rules

import org.apache.spark.sql.catalyst.expressions.{And, Expression}

/** The parts of a condition that all have to be true, in the order in which they were written. */
object Conjuncts {
  def of(e: Expression): Seq[Expression] = e match {
    case And(left, right) => of(left) ++ of(right)
    case other            => Seq(other)
  }
}
