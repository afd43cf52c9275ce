package io.tamis.wire

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, InvokeLike, StaticInvoke}
import org.apache.spark.sql.catalyst.expressions.xml.XPathExtract
import org.apache.spark.sql.types.ObjectType

/** Whether a function gives the same value for the same arguments in every query, on any day and
  * machine. Catalyst's `deterministic` promises that within one query only, and falsely of
  * aes_encrypt. Checked in Spark 4.1: of the functions that Catalyst calls deterministic, only
  * those below, and the parsers of [[CanonicalForm]], reach a clock, random numbers, the session or
  * files.
  */
object Repeatable {

  /** Of this node alone, whatever its children are. */
  def isRepeatable(e: Expression): Boolean = ExpressionWriter.isPlain(e) && (e match {
    case _: Literal | _: Attribute | _: NamedLambdaVariable => true
    // Others without arguments read the clock, the session or the task: current_date(),
    // current_user(), session variables, input_file_name(). So does current_time(3), which has an
    // argument and cannot be evaluated either. The optimizer replaces them by constants.
    case _: LeafExpression | _: Unevaluable => false
    // what runs is the replacement, whose nodes decide
    case _: RuntimeReplaceable => false
    case s: StaticInvoke       => isSparks(s.staticObject)
    // Typed filters of a Dataset, and functions of a catalog, are methods of an object of the user.
    case i: Invoke =>
      i.targetObject.dataType match {
        case ObjectType(of) => isSparks(of) && !readsXml(of)
        case _              => true // a method of a value of Spark's, such as UTF8String.isValid
      }
    // from_xml reads the schema that its option rowValidationXSDPath names
    case _: XmlToStructs => false
    // encoders: they call constructors and methods of classes of the user
    case _ if e.getClass.getPackageName == classOf[InvokeLike].getPackageName => false
    // Functions of extensions may do anything. Of Spark's own packages, those of Avro and Protobuf
    // are not among these: the option avroSchemaUrl names a file.
    case _ => isSparks(e.getClass)
  })

  /** Whether a class is Spark's own, so that its methods depend on nothing but their arguments.
    * Another one may have the same simple name.
    */
  def isSparks(c: Class[_]): Boolean =
    c.getName.startsWith("org.apache.spark.sql.catalyst.") ||
      c.getName.startsWith("org.apache.spark.unsafe.")

  /** xpath and its relatives: a document may name another one, such as its DTD. */
  private def readsXml(evaluator: Class[_]): Boolean =
    evaluator.getPackageName == classOf[XPathExtract].getPackageName
}
