package io.tamis.functions

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.types.StringType

/** The table functions of tamis: `SELECT * FROM tamis_explain('SELECT …')`. */
object TableFunctions {
  private val all: Seq[TableFunction] =
    Seq(ExplainFunction, FilesFunction, PushdownFunction, HistoryFunction, RememberedFunction)

  /** Other names of functions. */
  private val alternatives = Map("tamis_echo" -> PushdownFunction)

  def register(extensions: SparkSessionExtensions): Unit =
    (all.map(f => f.name -> f) ++ alternatives).foreach { case (name, f) =>
      val usage = if (name == f.name) f.usage else s"another name of ${f.usage}"
      val info =
        new ExpressionInfo(f.getClass.getName, null, name, usage, "", "", "", "", "0.1.0", "", "")
      extensions.injectTableFunction((FunctionIdentifier(name), info, f(_)))
    }
}

/** A function that is called when the query is analyzed. */
abstract class TableFunction(val name: String) {
  def usage: String
  def apply(arguments: Seq[Expression]): LogicalPlan
}

/** A function with one text argument. */
abstract class TextFunction(name: String, argument: String) extends TableFunction(name) {
  protected def rows(session: SparkSession, text: String): LogicalPlan

  override def apply(arguments: Seq[Expression]): LogicalPlan = arguments match {
    case Seq(text) if text.foldable && text.dataType == StringType && text.eval() != null =>
      rows(SparkSession.active, text.eval().toString)
    case _ =>
      throw new IllegalArgumentException(s"$name takes one string literal: $argument")
  }
}
