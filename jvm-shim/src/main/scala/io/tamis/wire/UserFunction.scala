package io.tamis.wire

import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, StaticInvoke}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction
import org.apache.spark.sql.execution.python.UserDefinedPythonFunction

/** A deterministic user-defined function of Python, Scala, Java, Hive or a catalog. Only its name,
  * its arguments and its type are known; tamis.declare can add more.
  *
  * @param body
  *   digest that distinguishes Python functions of the same name
  */
private[tamis] final case class UserFunction(
    name: String,
    arguments: Seq[Expression],
    body: Option[String]
)

private[tamis] object UserFunction {

  /** Prefix of these functions' names in documents; no Catalyst class name starts with it. */
  val Prefix = "udf:"

  def of(e: Expression): Option[UserFunction] = named(e).filter(_ => e.deterministic)

  private def named(e: Expression): Option[UserFunction] = e match {
    case p: PythonUDF => Some(UserFunction(p.name, p.children, Some(bodyOf(p.func.command))))
    // all functions without a name are called "UDF"
    case s: ScalaUDF              => s.udfName.map(UserFunction(_, s.children, None))
    case _: SubqueryExpression    => None
    case u: UserDefinedExpression => Some(UserFunction(u.name, e.children, None))
    case s: StaticInvoke => s.scalarFunction.map(f => UserFunction(f.name, s.arguments, None))
    case i: Invoke       =>
      i.targetObject match {
        case Literal(f: ScalarFunction[_], _) => Some(UserFunction(f.name, i.arguments, None))
        case _                                => None
      }
    case _ => None
  }

  def bodyOf(function: UserDefinedPythonFunction): String = bodyOf(function.func.command)

  private def bodyOf(command: Seq[Byte]): String = Digest.sha256(command.toArray, 16)

  /** The digest of the Python function that is registered under this name; null if there is none.
    */
  def bodyOf(session: SparkSession, name: String): String = {
    val registry = session.asInstanceOf[ClassicSession].sessionState.functionRegistry
    Try(registry.lookupFunction(FunctionIdentifier(name), Seq(Literal(null)))).toOption.collect {
      case p: PythonUDF => bodyOf(p.func.command)
    }.orNull
  }
}
