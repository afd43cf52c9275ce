package io.tamis.wire

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Locale, UUID}

import scala.util.control.NonFatal

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.InvokeLike
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, Decimal, MapType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Keys for what expressions compute: two expressions with the same key give the same value for the
  * same row, in every session of the same Spark.
  *
  * A key is the digest of Catalyst's own canonical form (so `a + 1` equals `1 + a` if Spark treats
  * them as equal), and of the parentheses of sums and products. Columns are represented by path and
  * type, and every constructor argument is written out: formats, time zone, ANSI mode, collations
  * (which are part of types). An expression with a part that cannot be written out has no key.
  * Every key also includes the confs that functions read while they run, the versions of Spark and
  * Java, and a language of the JVM that has its own rules of upper and lower case.
  *
  * @param hides
  *   whether a dotted path is hidden from Python, see [[ExpressionWriter]]
  */
final class CanonicalForm(hides: String => Boolean) {
  import CanonicalForm._

  private val conf = SQLConf.get
  private lazy val surroundings = CanonicalForm.surroundings(conf)

  /** The key of an expression; None if it has none. Never throws. */
  def keyOf(e: Expression): Option[String] =
    try {
      if (isSmall(e) && isRepeatable(e))
        Some(Digest.sha256((surroundings + spelled(e)).getBytes(UTF_8), 16))
      else None
    } catch { case NonFatal(_) | _: StackOverflowError => None }

  /** Replaces columns by attributes whose ids depend only on path and type. */
  private def standIns(e: Expression): (Expression, Map[Long, String]) = {
    var names = Map.empty[Long, String]
    def replaced(e: Expression): Expression = e match {
      case ExpressionWriter.ColumnPath(path) if !hides(path.mkString(".")) =>
        val folded = if (conf.caseSensitiveAnalysis) path else path.map(_.toLowerCase(Locale.ROOT))
        val name =
          folded.map(p => s"${p.length}:$p").mkString("column(", ",", s",${typeOf(e.dataType)})")
        val id = UUID.nameUUIDFromBytes(name.getBytes(UTF_8)).getMostSignificantBits
        names += id -> name
        AttributeReference(name, e.dataType)(ExprId(id, Nowhere))
      case _: Attribute => throw new NotSpelled
      case other        => other.mapChildren(replaced)
    }
    (replaced(e), names)
  }

  private def spelled(expression: Expression): String = {
    val (e, names) = standIns(expression)
    val speller = new Speller(names)
    val nested = e.collect { case part if isNested(part) => " nested " + speller.grouped(part) }
    speller.spelled(e.canonicalized) + nested.mkString
  }
}

object CanonicalForm {
  private val Nowhere = new UUID(0, 0)
  private val MaxNodes = 100

  /** Confs that functions read when they run rather than when they are created. Time zone and ANSI
    * mode are not among them: an expression that depends on them contains them.
    */
  private[tamis] val ReadLate: Seq[String] = Seq(
    "spark.sql.legacy.",
    "spark.sql.icu.",
    "spark.sql.json",
    "spark.sql.csv.",
    "spark.sql.xml.",
    "spark.sql.variant.",
    "spark.sql.avro.",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.collation.",
    // from_json, from_csv and from_xml give this column of their schema the text of a bad record
    "spark.sql.columnNameOfCorruptRecord",
    // decides the scale, and thus the value, of decimal operations; an argument of them since 4.1
    "spark.sql.decimalOperations."
  )

  /** Languages whose upper and lower case differ from all others. Functions that map case use the
    * language of the JVM.
    */
  private val OwnCase = Set("az", "el", "hy", "lt", "nl", "tr")

  private final class NotSpelled extends RuntimeException(null, null, false, false)

  private def surroundings(conf: SQLConf): String = {
    val set = conf.getAllConfs.toSeq.filter { case (k, _) => ReadLate.exists(k.startsWith) }.sorted
    val java = System.getProperty("java.version") // decides the rules of time zones
    val language = Some(Locale.getDefault.getLanguage).filter(OwnCase).map(" language " + _)
    s"spark $SPARK_VERSION java $java ${set.mkString(" ")}${language.getOrElse("")}\n"
  }

  /** Writes out parts of expressions.
    *
    * @param names
    *   of columns, by the ids of the attributes that stand for them
    */
  private final class Speller(names: Map[Long, String]) {

    /** Sums and products with their parentheses, each with its operands in a fixed order. The
      * canonical form drops the parentheses, and the modes of inner operations. But (a + b) + c
      * rounds differently, and overflows for other rows, than a + (b + c).
      */
    def grouped(e: Expression): String = e match {
      case _: Add | _: Multiply =>
        val operands = e.children.map(grouped).sorted.map(each => s"${each.length}:$each")
        val mode = ExpressionWriter.modeOf(e).getOrElse("")
        s"${e.getClass.getName} $mode ${typeOf(e.dataType)} ${operands.mkString}"
      case operand => spelled(operand.canonicalized)
    }

    def spelled(part: Any): String = part match {
      case null                   => "null"
      case a: AttributeReference  => names.getOrElse(a.exprId.id, throw new NotSpelled)
      case v: NamedLambdaVariable => // numbered by the canonical form
        text("lambda", s"${v.exprId.id} ${typeOf(v.dataType)}")
      case l: Literal                                            => literal(l.value, l.dataType)
      case _: Attribute                                          => throw new NotSpelled
      case t: DataType                                           => text("type", typeOf(t))
      case s: String                                             => text("string", s)
      case s: UTF8String                                         => bytes("utf8", s.getBytes)
      case b: Array[Byte]                                        => bytes("bytes", b)
      case b: Boolean                                            => b.toString
      case n @ (_: Byte | _: Short | _: Int | _: Long | _: Char) => text("number", n.toString)
      case f: Float             => text("float", java.lang.Float.floatToRawIntBits(f).toString)
      case d: Double            => text("double", java.lang.Double.doubleToRawLongBits(d).toString)
      case d: Decimal           => text("decimal", d.toJavaBigDecimal.toString)
      case c: Class[_]          => text("class", c.getName)
      case v: Enumeration#Value => text("choice", v.toString)
      case v: Enum[_]           => text("choice", v.name)
      case Some(inner)          => spelled(inner)
      case None                 => "none"
      case m: scala.collection.Map[_, _] =>
        all(
          m.toSeq
            .map { case (k, v) => spelled(k) + "->" + spelled(v) }
            .sorted
            .map(text("string", _))
        )
      case s: scala.collection.Seq[_] => all(s.map(spelled))
      case p: Product                 => // expressions and their parts
        text("node", p.getClass.getName) + all(p.productIterator.map(spelled))
      case _ => throw new NotSpelled
    }

    private def literal(value: Any, dataType: DataType): String = {
      val content = (value, dataType) match {
        case (array: ArrayData, ArrayType(element, _)) =>
          array.toArray[Any](element).map(literal(_, element)).mkString
        case _ => spelled(value)
      }
      s"literal(${typeOf(dataType)} $content)"
    }

    private def text(kind: String, s: String): String = s"$kind${s.length}:$s"

    private def bytes(kind: String, b: Array[Byte]): String =
      s"$kind${java.util.HexFormat.of().formatHex(b)};"

    private def all(parts: IterableOnce[String]): String =
      parts.iterator.map(_ + ",").mkString("[", "", "]")
  }

  /** A type with its collations, which its JSON leaves out on Spark 4.0.0 (SPARK-53130). */
  private def typeOf(t: DataType): String = {
    val name = t.catalogString
    if (name.contains(" collate ")) s"${t.json} $name" else t.json
  }

  private def isNested(e: Expression): Boolean = e match {
    case _: Add | _: Multiply => e.children.exists(_.getClass == e.getClass)
    case _                    => false
  }

  private def isRepeatable(e: Expression): Boolean =
    e.references.nonEmpty &&
      !e.exists(part => !Repeatable.isRepeatable(part) || readsClock(part) || hidesZone(part)) &&
      // the canonical form gives variables of nested lambdas the same number
      e.collect { case h: HigherOrderFunction => h }.size <= 1

  private val Timestamp = "timestamp(?!_ntz)".r

  /** Whether the value may depend on the day, although Catalyst calls the expression deterministic:
    * text such as 10:30, also in a VARIANT, becomes a timestamp of the current day, and
    * java.text.SimpleDateFormat takes years with two digits as close to the current one.
    */
  private def readsClock(e: Expression): Boolean = e match {
    case c: Cast        => mayHoldText(c.child.dataType) && hasTimestamp(c.dataType)
    case _: ToTimestamp => isLegacy
    // a later version of Spark may parse in a method
    case i: InvokeLike if i.children.exists(c => mayHoldText(c.dataType)) =>
      hasTimestamp(i.dataType) || isLegacy && i.dataType.catalogString.contains("date")
    case _ if Parsers(e.getClass.getSimpleName) => hasTimestamp(e.dataType) || isLegacy
    case _                                      => false
  }

  private def mayHoldText(t: DataType): Boolean = {
    val name = t.catalogString
    name.contains("string") || name.contains("variant")
  }

  private val Parsers = Set("JsonToStructs", "CsvToStructs", "VariantGet")

  private def isLegacy = SQLConf.get.legacyTimeParserPolicy.toString == "LEGACY"

  /** Whether the canonical form leaves out the time zone of the cast: it does so for arrays, maps
    * and structs, also if they hold timestamps.
    */
  private def hidesZone(e: Expression): Boolean = e match {
    case c: Cast =>
      val types = Seq(c.child.dataType, c.dataType)
      types.exists(isNestedType) && types.exists(hasTimestamp)
    case _ => false
  }

  private def isNestedType(t: DataType): Boolean = t match {
    case _: ArrayType | _: MapType | _: StructType => true
    case _                                         => false
  }

  private def hasTimestamp(t: DataType): Boolean = Timestamp.findFirstIn(t.catalogString).nonEmpty

  private def isSmall(e: Expression): Boolean = {
    var left = MaxNodes
    def visit(e: Expression): Boolean = { left -= 1; left > 0 && e.children.forall(visit) }
    visit(e)
  }
}
