package io.tamis.formats

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.expressions.Expression

/** Makes columns of expressions, for which Spark has no public way: seen in Spark 4.0, 4.1 and 4.3.
  */
private[formats] object ExpressionColumns {

  /** A column computed from others. None: this version of Spark cannot make it. */
  def of(columns: Column*)(make: Seq[Expression] => Expression): Option[Column] =
    try {
      val utils =
        Members.singleton(getClass.getClassLoader, "org.apache.spark.sql.classic.ExpressionUtils")
      val inputs = columns.map(Members.get[Expression](utils, "expression", _))
      Some(Members.get[Column](utils, "column", make(inputs)))
    } catch {
      case _: ReflectiveOperationException => None
    }
}
