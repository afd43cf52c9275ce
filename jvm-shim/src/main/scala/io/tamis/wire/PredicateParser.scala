package io.tamis.wire

import scala.util.Try

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeReference,
  CommonExpressionRef,
  EqualNullSafe,
  Expression,
  LeafExpression,
  LeafMathExpression,
  Literal,
  SubqueryExpression,
  UserDefinedExpression,
  With
}
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.{Rule, RuleExecutor}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.types.{BooleanType, CharType, DataType, StructType}

/** The only SQL front end: Spark's own parser, analyzer and expression rules. */
object PredicateParser {

  /** Parses a predicate over a schema.
    *
    * @return
    *   the document of the predicate, simplified but with nothing inferred; columns are spelled as
    *   in the schema
    */
  def parse(session: SparkSession, sql: String, schemaJson: String): String = session.withActive {
    val schema = new DeclaredSchema(schemaJson)
    import schema.columns
    val analyzed = checked(session, asFilter(parsed(session, sql), columns))
    val condition = Simplifier
      .execute(analyzed)
      .collectFirst { case Filter(condition, _) => condition }
      .getOrElse(throw new IllegalStateException(s"no predicate is left: $sql"))
    Json.text(schema.write(condition))
  }

  /** Parses a value rather than a predicate, to compute statistics of it.
    *
    * @return
    *   {"type", "document", "refusal"}: the document as a query's filter would contain it; the
    *   refusal says why no statistics can be stored for it
    */
  def parseValue(session: SparkSession, sql: String, schemaJson: String): String =
    session.withActive {
      val schema = new DeclaredSchema(schemaJson)
      import schema.columns
      val value = checked(session, asValue(parsed(session, sql), columns)) match {
        case Project(Seq(Alias(e, _)), _: Schema) => Some(e)
        case _                                    => None // moved into an operator of its own
      }
      val inFilters = value.map(asInFilters(session, _, columns))
      val refusal = value match {
        case None => Some("it is an aggregate, window or table function")
        case _ if SpecialValue.findFirstIn(sql).nonEmpty => Some(OfNow)
        case Some(e)                                     =>
          // the optimizer hides current_date() behind a constant, and reveals what functions call
          refusalOf(e).orElse(
            Option.when(inFilters.exists(_.exists(!Repeatable.isRepeatable(_))))(OfNow)
          )
      }
      val written = value.zip(inFilters).toSeq.flatMap { case (e, simple) =>
        Seq("type" -> ExpressionWriter.typeName(e.dataType), "document" -> schema.write(simple))
      }
      Json.text(Json.obj(written :+ ("refusal" -> refusal): _*))
    }

  /** What a user wrote about some of these columns. `over` throws ParseException. */
  sealed trait Written
  case object OfOtherColumns extends Written

  /** A column, or another value computed from the columns. */
  final case class AColumn(column: Expression) extends Written
  final case class Predicates(conjuncts: Seq[Expression]) extends Written

  def over(session: SparkSession, sql: String, columns: Seq[Attribute]): Written =
    session.withActive {
      parsed(session, sql) match {
        case UnresolvedAttribute(parts) =>
          // fails if a column has no such field
          Try(
            Schema(columns).resolve(parts, session.sessionState.conf.resolver)
          ).toOption.flatten match {
            case Some(Alias(field, _)) => AColumn(field) // of a struct
            case Some(column)          => AColumn(column)
            case None                  => OfOtherColumns
          }
        case parsed =>
          def analyzed(plan: LogicalPlan) =
            Try(session.sessionState.analyzer.execute(plan)).toOption.filter(_.resolved)
          val filter = analyzed(asFilter(parsed, columns)).map(Simplifier.execute)
          (filter, analyzed(asValue(parsed, columns))) match {
            case (Some(Filter(condition, _)), _) if condition.dataType == BooleanType =>
              Predicates(ExpressionWriter.conjuncts(condition))
            case (_, Some(Project(Seq(Alias(e, _)), _))) => AColumn(e)
            case _                                       => OfOtherColumns
          }
      }
    }

  private val OfNow = "its value depends on when, where or by whom it is computed"
  private val SpecialValue = "(?i)(date|timestamp\\w*)\\s*['\"]\\s*(now|today|tomorrow|yesterday)".r

  /** Such as current_date(), which is computed again by the job that records statistics. */
  private def isOfNow(e: Expression): Boolean = e match {
    case _: Literal | _: LeafMathExpression => false
    case leaf: LeafExpression               => leaf.foldable
    case _                                  => false
  }

  private def refusalOf(e: Expression): Option[String] =
    if (e.exists(_.isInstanceOf[SubqueryExpression])) Some("it contains a subquery")
    else if (e.exists(_.isInstanceOf[UserDefinedExpression]))
      Some("it calls a user-defined function, whose code may change")
    else if (!e.deterministic || e.exists(ExpressionWriter.isRandom))
      Some("it is not deterministic")
    else if (e.exists(isOfNow)) Some(OfNow)
    else if (e.references.isEmpty) Some("it names no column")
    else None

  /** The value as it looks in a filter that the whole optimizer has processed. */
  private def asInFilters(
      session: SparkSession,
      value: Expression,
      columns: Seq[Attribute]
  ): Expression = {
    val other = AttributeReference("other", value.dataType)()
    def valueIn(plan: LogicalPlan): Option[Expression] =
      plan.expressions
        .flatMap(_.collect {
          case EqualNullSafe(e, a: AttributeReference) if a.exprId == other.exprId => e
          case EqualNullSafe(a: AttributeReference, e) if a.exprId == other.exprId => e
        })
        .headOption
    val filter = Filter(EqualNullSafe(value, other), Schema(columns :+ other))
    // a Project below the filter would split the value in two
    val whole = (e: Expression) => e.references.forall(a => columns.exists(_.exprId == a.exprId))
    Seq[LogicalPlan => LogicalPlan](session.sessionState.optimizer.execute(_), Simplifier.execute)
      .flatMap(simplify => Try(simplify(filter)).toOption.toSeq)
      .flatMap(_.collectFirst { case p if valueIn(p).isDefined => valueIn(p).get })
      .find(whole)
      .getOrElse(value)
  }

  private def parsed(session: SparkSession, sql: String): Expression =
    session.sessionState.sqlParser.parseExpression(sql)

  /** A bare NULL has no type, and a Filter needs a boolean. */
  private def asFilter(parsed: Expression, columns: Seq[Attribute]): LogicalPlan = parsed match {
    case Literal(null, _) => Filter(Literal(null, BooleanType), Schema(columns))
    case other            => Filter(other, Schema(columns))
  }

  private def asValue(parsed: Expression, columns: Seq[Attribute]): LogicalPlan =
    Project(Seq(Alias(parsed, "value")()), Schema(columns))

  /** The plan after analysis. Throws AnalysisException if it is not valid. */
  private def checked(session: SparkSession, plan: LogicalPlan): LogicalPlan = {
    val analyzed = session.sessionState.analyzer.execute(plan)
    session.sessionState.analyzer.checkAnalysis(analyzed)
    analyzed
  }

  /** The schema that a predicate or a value is written about, as Python declares it. */
  private final class DeclaredSchema(json: String) {
    private val declared = DataType.fromJson(json).asInstanceOf[StructType]
    private val schema = CharVarcharUtils.replaceCharVarcharWithStringInSchema(declared)
    val columns: Seq[Attribute] = DataTypeUtils.toAttributes(schema)

    def write(e: Expression): ObjectNode = {
      val opaque = ExpressionWriter.ambiguousPaths(schema) ++ padded(declared)
      new ExpressionWriter(opaque).write(spelled(e))
    }

    /** Restores the spelling of the schema, which statistics use: Spark spells a resolved column as
      * the query does.
      */
    private def spelled(e: Expression): Expression = {
      val names = columns.map(c => c.exprId -> c.name).toMap
      e.transform { case a: AttributeReference => names.get(a.exprId).fold(a)(a.withName) }
    }
  }

  /** Paths of CHAR columns: Spark pads their values when it reads them, and it is not known whether
    * statistics are of padded values.
    */
  private def padded(schema: StructType, prefix: String = ""): Seq[String] =
    schema.flatMap { field =>
      field.dataType match {
        case _: CharType   => Seq(prefix + field.name)
        case s: StructType => padded(s, s"$prefix${field.name}.")
        case _             => Nil
      }
    }

  /** A relation with known columns and nothing else. */
  private final case class Schema(output: Seq[Attribute]) extends LeafNode

  /** The rules that the optimizer applies to a condition before it reaches a scan, without those
    * that infer from it (IS NOT NULL) and without those that would remove the Filter.
    */
  private object Simplifier extends RuleExecutor[LogicalPlan] {
    override protected def batches: Seq[Batch] = Seq(
      Batch(
        "Finish",
        Once,
        EliminateSubqueryAliases,
        ReplaceExpressions,
        InlineCommonExpressions,
        ComputeCurrentTime
      ),
      Batch(
        "Simplify",
        FixedPoint(100),
        ConstantFolding,
        NullPropagation,
        OptimizeIn,
        BooleanSimplification,
        SimplifyConditionals,
        SimplifyBinaryComparison,
        LikeSimplification,
        SimplifyCasts,
        UnwrapCastInBinaryComparison,
        ReplaceNullWithFalseInPredicate,
        SimplifyExtractValueOps
      )
    )

    /** BETWEEN and similar expressions name what they use twice; Spark's own rule would move that
      * into a Project below the Filter.
      */
    private object InlineCommonExpressions extends Rule[LogicalPlan] {
      override def apply(plan: LogicalPlan): LogicalPlan = plan.transformExpressionsUp {
        case w: With =>
          val named = w.defs.map(d => d.id -> d.child).toMap
          w.child.transform { case r: CommonExpressionRef => named.getOrElse(r.id, r) }
      }
    }
  }
}
