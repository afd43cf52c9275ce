package io.tamis.wire

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.RuleExecutor
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.types.{DataType, StructType}

/** The one SQL front end: Spark's own parser, analyser and expression rules. */
object PredicateParser {

  /** @return the document of the predicate over the schema, simplified but with nothing inferred */
  def parse(session: SparkSession, sql: String, schemaJson: String): String = session.withActive {
    val schema = DataType.fromJson(schemaJson).asInstanceOf[StructType]
    val parsed = session.sessionState.sqlParser.parseExpression(sql)
    val analysed = session.sessionState.analyzer.execute(
      Filter(parsed, Schema(DataTypeUtils.toAttributes(schema)))
    )
    session.sessionState.analyzer.checkAnalysis(analysed)
    val simplified =
      Simplifier.execute(analysed).collectFirst { case Filter(condition, _) => condition }
    val condition: Expression =
      simplified.getOrElse(throw new IllegalStateException(s"no predicate is left of: $sql"))
    Messages.mapper.writeValueAsString(
      new ExpressionWriter(ExpressionWriter.ambiguousPaths(schema)).write(condition)
    )
  }

  /** A relation that nothing is known of but its columns. */
  private final case class Schema(output: Seq[Attribute]) extends LeafNode

  /** What the optimizer does to a condition before it reaches a scan, without what it infers from
    * it (IS NOT NULL), and without the rules that would remove the Filter.
    */
  private object Simplifier extends RuleExecutor[LogicalPlan] {
    override protected def batches: Seq[Batch] = Seq(
      Batch("Finish", Once, EliminateSubqueryAliasesIfAny, ReplaceExpressions, ComputeCurrentTime),
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

    private object EliminateSubqueryAliasesIfAny
        extends org.apache.spark.sql.catalyst.rules.Rule[LogicalPlan] {
      override def apply(plan: LogicalPlan): LogicalPlan =
        org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases(plan)
    }
  }
}
