package io.tamis.wire

import java.lang.reflect.Method
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Base64, Locale}

import scala.collection.mutable
import scala.util.Try
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

/** Writes Catalyst expressions as documents for Python. Total: an unsupported expression becomes
  * opaque.
  *
  * Every function is written in the same way, by its class name, its children and its scalar
  * options, so that supporting another function takes only Python code. An expression that gives
  * the same value wherever it is computed also has a key (CanonicalForm), by which an index finds
  * statistics of it.
  *
  * @param hidden
  *   dotted paths of columns that are written as opaque. Above all, these are paths that more than
  *   one column of the schema has ("b.c" beside struct b with field c), because statistics are
  *   stored by dotted path. Readers of a document may rely on a dotted path naming one column.
  */
final class ExpressionWriter(hidden: Set[String]) {
  import ExpressionWriter._

  /** A query may spell a column in another case than the schema. */
  private val hides: String => Boolean =
    if (SQLConf.get.caseSensitiveAnalysis) hidden
    else {
      val folded = hidden.map(_.toLowerCase(Locale.ROOT))
      path => folded(path.toLowerCase(Locale.ROOT))
    }

  private lazy val canonical = new CanonicalForm(hides)

  /** Cache of type names: a name is expensive to build, and there may be thousands of columns and
    * constants.
    */
  private val typeNames = mutable.HashMap.empty[DataType, String]

  private def nameOf(t: DataType): String = typeNames.getOrElseUpdate(t, typeName(t))

  /** The key of an expression; None if it has none. See [[CanonicalForm]]. */
  def keyOf(expression: Expression): Option[String] = canonical.keyOf(expression)

  /** Returns the document of an expression. Its root has a field `zones` (time zone -> table) for
    * the zones that the expression names.
    */
  def write(expression: Expression): ObjectNode = write(expression, mutable.Set.empty[String])

  /** Returns the documents of expressions, which are decoded together: a table of a zone is a few
    * kilobytes long, so only the first document that names the zone contains it.
    */
  def writeAll(expressions: Seq[Expression]): ArrayNode = {
    val documents = json.arrayNode()
    val announced = mutable.Set.empty[String]
    expressions.foreach(e => documents.add(write(e, announced)))
    documents
  }

  /** Same as `writeAll`, for conjuncts. The largest parts that the driver can evaluate for single
    * values are marked, and returned by their keys.
    */
  def writeEvaluable(conjuncts: Seq[Expression]): (ArrayNode, Map[String, Evaluable]) = {
    val found = mutable.LinkedHashMap.empty[String, Evaluable]
    marked = Some(found)
    try (writeAll(conjuncts), found.toMap)
    finally marked = None
  }

  /** What was marked so far; None while nothing is marked. */
  private var marked: Option[mutable.Map[String, Evaluable]] = None

  /** @param announced
    *   the zones whose tables an earlier document contains
    */
  private def write(expression: Expression, announced: mutable.Set[String]): ObjectNode = {
    val document =
      try predicate(expression, 0)
      catch { case NonFatal(_) | _: StackOverflowError => opaque(expression) }
    val unknown = zonesOf(document).filterNot(announced)
    if (unknown.nonEmpty) {
      val zones = document.putObject("zones")
      unknown.foreach(id => ZoneTable.of(id).foreach(zones.put(id, _)))
      announced ++= unknown
    }
    document
  }

  /** A conjunct, or a part of one below AND, OR and NOT alone. */
  private def predicate(e: Expression, depth: Int): ObjectNode =
    marked.flatMap(found => Evaluable.of(e, canonical.keyOf).map(found -> _)) match {
      case Some((found, part)) =>
        marked = None // the largest part only
        try {
          val out = obj("evaluable").put("k", part.key)
          Json.put(out, "c" -> node(part.column, depth), "a" -> node(e, depth))
          found(part.key) = part
          out
        } finally marked = Some(found)
      case None => node(e, depth)
    }

  private def node(e: Expression, depth: Int): ObjectNode = e match {
    case _ if depth > MaxDepth => opaque(e)
    // before isPlain: checking whether a long AND is deterministic recurses as deep as the AND is
    // long
    case And(_, _)        => call("And", e, conjuncts(e), depth)
    case Or(_, _)         => call("Or", e, flatten(e, { case Or(l, r) => Seq(l, r) }), depth)
    case OfUser(function) => userFunction(function, e, depth)
    case _ if !isPlain(e) => opaque(e)
    case l: Literal       => literal(l).getOrElse(opaque(e))
    case ColumnPath(path) => column(path, e)
    case In(value, list) if list.forall(_.isInstanceOf[Literal]) =>
      membership(e, value, list.map(_.asInstanceOf[Literal].value), depth)
    case InSet(value, set) => membership(e, value, set.toSeq, depth)
    // Python knows functions by their simple names, which an extension may give to others
    case s: StaticInvoke =>
      if (Repeatable.isSparks(s.staticObject)) call(methodOf(s), s, s.arguments, depth)
      else opaque(e)
    case _ if (e.children.nonEmpty || e.foldable) && Repeatable.isSparks(e.getClass) =>
      call(e.getClass.getSimpleName, e, e.children, depth)
    case _ => opaque(e)
  }

  private def column(path: Seq[String], e: Expression): ObjectNode =
    if (hides(path.mkString("."))) opaque(e)
    else Json.put(obj("col"), "p" -> path, "t" -> nameOf(e.dataType), "nullable" -> e.nullable)

  private def literal(l: Literal): Option[ObjectNode] = {
    val out = obj("lit").put("t", nameOf(l.dataType))
    if (Scalars.put(out, "v", l.value, l.dataType)) Some(out) else None
  }

  private def membership(
      e: Expression,
      value: Expression,
      options: Seq[Any],
      depth: Int
  ): ObjectNode = {
    val out = obj("in")
    out.set[ObjectNode]("a", node(value, depth + 1))
    out.put("t", nameOf(value.dataType))
    val list = out.putArray("v")
    val known = options.forall(v => v == null || Scalars.add(list, v, value.dataType))
    if (known) out.put("null", options.contains(null)) else opaque(e)
  }

  private def call(
      name: String,
      e: Expression,
      arguments: Seq[Expression],
      depth: Int
  ): ObjectNode = {
    val out = obj("call").put("f", name).put("t", nameOf(e.dataType))
    val write: (Expression, Int) => ObjectNode = if (Connective(name)) predicate else node
    Json.put(out, "a" -> arguments.map(write(_, depth + 1)))
    // boolean operators have no settings, and there may be thousands of them
    val settings = if (Logic(name)) Nil else options(e)
    if (settings.nonEmpty) Json.put(out, "o" -> Json.obj(settings: _*))
    if (!Logic(name)) canonical.keyOf(e).foreach(out.put("k", _))
    out
  }

  private def userFunction(f: UserFunction, e: Expression, depth: Int): ObjectNode = {
    val out = obj("call").put("f", UserFunction.Prefix + f.name).put("t", nameOf(e.dataType))
    Json.put(out, "sql" -> sqlOf(e), "a" -> f.arguments.map(node(_, depth + 1)))
    f.body.foreach(out.putObject("o").put("body", _))
    out
  }

  private def opaque(e: Expression): ObjectNode = {
    val typeOf = Try(typeName(e.dataType)).getOrElse("unknown")
    val columns = Try(e.references.toSeq).getOrElse(Nil).map(a => Seq(a.name))
    val out = Json.put(obj("opaque"), "sql" -> sqlOf(e), "t" -> typeOf, "cols" -> columns)
    canonical.keyOf(e).foreach(out.put("k", _))
    out
  }
}

object ExpressionWriter {
  private val MaxDepth = 200

  /** Calls that have nodes of their own in Python, and no key. */
  private val Logic = Set(
    "And",
    "Or",
    "Not",
    "EqualTo",
    "EqualNullSafe",
    "LessThan",
    "LessThanOrEqual",
    "GreaterThan",
    "GreaterThanOrEqual",
    "IsNull",
    "IsNotNull",
    "In"
  )

  private val Connective = Set("And", "Or", "Not")
  private val json = JsonNodeFactory.instance
  private def obj(kind: String): ObjectNode = json.objectNode().put("n", kind)

  /** Spark's name of a type: "integer", "decimal(10,2)", "string collate UNICODE". Mostly as in its
    * JSON, but the JSON of a string leaves its collation out on Spark 4.0.0 (SPARK-53130).
    */
  def typeName(t: DataType): String = t match {
    case _: StructType | _: ArrayType | _: MapType => t.catalogString
    case s: StringType                             => s.typeName
    case _                                         => t.json.stripPrefix("\"").stripSuffix("\"")
  }

  /** The SQL of a predicate as its author would write it, without qualifiers and ids. */
  def sqlOf(e: Expression): String =
    try e.transform { case a: AttributeReference => a.withQualifier(Nil) }.sql
    catch { case NonFatal(_) | _: StackOverflowError => e.getClass.getSimpleName }

  /** Whether this node depends only on the row. If it does not, evaluating it elsewhere is
    * meaningless.
    */
  def isPlain(e: Expression): Boolean = e match {
    // with logical and with physical plans
    case _: PlanExpression[_] | _: OuterReference | _: DynamicPruning | _: UserDefinedExpression =>
      false
    case _ => e.deterministic && !isRandom(e)
  }

  /** Whether this node is random although Catalyst calls it deterministic: aes_encrypt, whose
    * initial vector is random unless it is given. Checked in Spark 4.1 for all functions that have
    * a source of random numbers.
    */
  def isRandom(e: Expression): Boolean = e match {
    case _: AesEncrypt   => true
    case s: StaticInvoke => s.functionName == "aesEncrypt"
    case _               => false
  }

  /** Dotted paths of leaf columns that occur more than once in the schema. */
  def ambiguousPaths(schema: StructType): Set[String] =
    paths(schema, "")
      .map(_._1)
      .groupBy(identity)
      .collect { case (path, several) if several.size > 1 => path }
      .toSet

  /** Dotted paths of the columns that are timestamps or contain one. */
  def timestampPaths(schema: StructType): Set[String] =
    paths(schema, "").collect {
      case (path, t) if t.json.contains("\"timestamp\"") => path
    }.toSet

  private def paths(s: StructType, prefix: String): Seq[(String, DataType)] =
    s.fields.toSeq.flatMap { f =>
      val path = prefix + f.name
      (path -> f.dataType) +: (f.dataType match {
        case nested: StructType => paths(nested, path + "."); case _ => Nil
      })
    }

  /** Matches a column, or a struct field of one, without an existence default: a file that lacks
    * the column then reads as NULL.
    */
  object ColumnPath {
    def unapply(e: Expression): Option[Seq[String]] = e match {
      case a: AttributeReference if !a.metadata.contains("EXISTS_DEFAULT") => Some(Seq(a.name))
      case g: GetStructField => unapply(g.child).map(_ :+ g.childSchema(g.ordinal).name)
      case _                 => None
    }
  }

  /** The name of a static method: "UrlCodec.decode". Many functions of Spark are static methods
    * that depend only on their arguments.
    */
  private def methodOf(s: StaticInvoke): String =
    s"${s.staticObject.getSimpleName.stripSuffix("$")}.${s.functionName}"

  private object OfUser {
    def unapply(e: Expression): Option[UserFunction] = UserFunction.of(e)
  }

  /** The conjuncts of an AND, however deeply nested. */
  def conjuncts(e: Expression): Seq[Expression] = flatten(e, { case And(l, r) => Seq(l, r) })

  private def flatten(
      e: Expression,
      split: PartialFunction[Expression, Seq[Expression]]
  ): Seq[Expression] = {
    val out = Seq.newBuilder[Expression]
    val stack = new java.util.ArrayDeque[Expression]()
    stack.push(e)
    while (!stack.isEmpty) {
      val next = stack.pop()
      if (split.isDefinedAt(next)) split(next).reverse.foreach(stack.push) else out += next
    }
    out.result()
  }

  /** The accessor of the ANSI mode for classes that have one. Cached, because a failed lookup is
    * expensive.
    */
  private val evalMode = new ClassValue[Option[Method]] {
    override def computeValue(of: Class[_]): Option[Method] = Try(of.getMethod("evalMode")).toOption
  }

  /** ANSI, TRY or LEGACY; None for classes without a mode. */
  private[wire] def modeOf(e: Expression): Option[String] =
    evalMode.get(e.getClass).flatMap(method => Try(method.invoke(e)).toOption).map(_.toString)

  /** Constructor arguments of an expression that are scalars (format, ANSI mode, time zone, …). */
  private def options(e: Expression): Seq[(String, Any)] = {
    val named = e.productElementNames.zip(e.productIterator).toSeq.flatMap {
      case (name, Some(v)) => Scalars.option(v).map(name -> _)
      case (name, v)       => Scalars.option(v).map(name -> _)
    }
    val ansi = modeOf(e).map("evalMode" -> _)
    named.filterNot(n => ansi.exists(_._1 == n._1)) ++ ansi ++ ownZone(e).map("timeZoneId" -> _)
  }

  /** The zone if it is an argument rather than the session's. */
  private def ownZone(e: Expression): Option[String] = e match {
    case u: UTCTimestamp =>
      u.children.lift(1).collect { case Literal(s: UTF8String, _) => s.toString }
    case _ => None
  }

  /** The time zones that the calls of a document name, each once. */
  private def zonesOf(document: JsonNode): Seq[String] = {
    val ids = mutable.LinkedHashSet.empty[String]
    val pending = mutable.ArrayDeque[JsonNode](document)
    while (pending.nonEmpty) {
      val next = pending.removeHead()
      next.path("o").path("timeZoneId") match {
        case id if id.isTextual => ids += id.asText
        case _                  =>
      }
      if (next.path("n").asText != "in") next.path("a").forEach(each => pending += each)
      else pending += next.path("a")
    }
    ids.toSeq
  }

  /** Writes Catalyst values as JSON values; returns false if the wire has no form for the value. */
  private object Scalars {
    def put(o: ObjectNode, field: String, v: Any, t: DataType): Boolean = {
      val box = json.arrayNode()
      if (v == null) { o.putNull(field); true }
      else add(box, v, t) && { o.set[ObjectNode](field, box.get(0)); true }
    }

    def add(list: ArrayNode, v: Any, t: DataType): Boolean = (v, t) match {
      case (b: Boolean, BooleanType)                              => list.add(b); true
      case (i: Byte, ByteType)                                    => list.add(i.toInt); true
      case (i: Short, ShortType)                                  => list.add(i.toInt); true
      case (i: Int, IntegerType | DateType)                       => list.add(i); true
      case (i: Long, LongType | TimestampType | TimestampNTZType) => list.add(i); true
      case (i: Int, _: YearMonthIntervalType)                     => list.add(i); true // months
      case (i: Long, _: DayTimeIntervalType)                      => list.add(i); true // micros
      case (i: CalendarInterval, CalendarIntervalType)            =>
        list.addArray().add(i.months).add(i.days).add(i.microseconds); true
      case (f: Float, FloatType)          => floating(list, f.toDouble)
      case (d: Double, DoubleType)        => floating(list, d)
      case (d: Decimal, _: DecimalType)   => list.add(d.toJavaBigDecimal.toPlainString); true
      case (s: UTF8String, _: StringType) => text(list, s)
      case (b: Array[Byte], BinaryType)   => list.add(Base64.getEncoder.encodeToString(b)); true
      case _                              => false
    }

    private def floating(list: ArrayNode, d: Double): Boolean = {
      if (d.isNaN) list.add("NaN")
      else if (d.isInfinite) list.add(if (d > 0) "Infinity" else "-Infinity")
      else list.add(d)
      true
    }

    /** Writes a string. A Spark string may hold bytes that are not UTF-8; JSON cannot represent
      * them and would change them.
      */
    private def text(list: ArrayNode, s: UTF8String): Boolean = {
      val decoded = s.toString
      java.util.Arrays.equals(decoded.getBytes(UTF_8), s.getBytes) && { list.add(decoded); true }
    }

    def option(v: Any): Option[Any] = v match {
      case _: Boolean | _: Int | _: Long | _: String      => Some(v)
      case _: Char | _: UTF8String | _: Enumeration#Value => Some(v.toString)
      case t: DataType                                    => Some(typeName(t))
      case _                                              => None
    }
  }
}
