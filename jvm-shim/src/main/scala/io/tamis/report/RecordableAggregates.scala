package io.tamis.report

import io.tamis.planning.Question
import io.tamis.rules.goals.{AggregateFromStatistics, AnswerableFunction, StatisticsAggregate}
import io.tamis.wire.{ExpressionWriter, Json, Messages, PredicateParser}
import java.util.{Collections, LinkedHashMap}
import java.util.Map.Entry

import scala.util.Try

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  Average,
  Count,
  HyperLogLogPlusPlus,
  Max,
  Min,
  Sum
}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.types.DecimalType

/** The aggregates of a query that ran which an index could record, and does not. */
private[report] object RecordableAggregates extends AdaptiveSparkPlanHelper {
  private val MostFound = 1000

  /** For each scan below such aggregates, their document: {"aggregates": ["sum(x)"], "by": ["c"],
    * "filters": [CONDITION], "groups": 3}, with the number of rows that the topmost one returned.
    */
  def of(session: SparkSession, plan: SparkPlan): Seq[(SparkPlan, ObjectNode)] =
    for {
      // of the partial and the final aggregate, the final one comes first
      (aggregate, wanted) <- ScanNodes.once(unanswered(plan))(_._2)
      scan <- ScanNodes.of(aggregate, _ => false).map(_.node).take(1)
      document <- written(session, wanted)
    } yield scan -> Json.put(document, "groups" -> rowsOf(aggregate))

  private def unanswered(plan: SparkPlan): Seq[(SparkPlan, StatisticsAggregate)] =
    collectWithSubqueries(plan) { case aggregate: BaseAggregateExec =>
      for {
        logical <- aggregate.logicalLink
        wanted <- logical.getTagValue(AggregateFromStatistics.Unanswered)
      } yield (aggregate: SparkPlan) -> wanted
    }.flatten

  private def rowsOf(node: SparkPlan): Option[Long] =
    node.metrics.get("numOutputRows").map(_.value).filter(_ >= 0)

  /** None: some part cannot be written so that it is found again. */
  private def written(session: SparkSession, wanted: StatisticsAggregate): Option[ObjectNode] = {
    val calls = wanted.functions.map(callOf(session, wanted, _))
    val by = wanted.columns.collect { case ExpressionWriter.ColumnPath(path) => path.mkString(".") }
    // DISTINCT needs only the number of rows of each group
    val listed = if (calls.isEmpty) Seq(Some("count(*)")) else calls
    Option.when(listed.forall(_.isDefined)) {
      val writer = Question.writer(wanted.scan.table)
      val filters = wanted.parts.flatMap(_.filter).distinctBy(_.canonicalized).map(writer.write)
      Json.obj("aggregates" -> listed.flatten.distinct, "by" -> by, "filters" -> filters)
    }
  }

  private def callOf(
      session: SparkSession,
      wanted: StatisticsAggregate,
      function: AnswerableFunction
  ): Option[String] = {
    val (name, more) = function.expression.aggregateFunction match {
      case _: Count               => Some("count") -> ""
      case _: Sum                 => Some("sum") -> ""
      case _: Average             => Some("avg") -> ""
      case _: Min                 => Some("min") -> ""
      case _: Max                 => Some("max") -> ""
      case h: HyperLogLogPlusPlus => Some(h.prettyName) -> deviation(h)
      case _                      => None -> ""
    }
    name.flatMap { name =>
      function.parts.head.argument match {
        case None           => Some(s"$name(*)")
        case Some(argument) =>
          val forms = Seq(argument, withTypes(argument)).map(ExpressionWriter.sqlOf).distinct
          forms.find(isFound(session, wanted, argument, _)).map(sql => s"$name($sql$more)")
      }
    }
  }

  private def deviation(h: HyperLogLogPlusPlus): String =
    if (h.relativeSD == new HyperLogLogPlusPlus(h.child).relativeSD) "" else s", ${h.relativeSD}"

  /** The SQL of a constant does not show the precision of its type. */
  private def withTypes(argument: Expression): Expression = argument.transformUp {
    case constant @ Literal(_, t: DecimalType) => Cast(constant, t)
  }

  /** Whether an index that records this SQL answers for the argument. The SQL of a plan need not
    * have the types of the original: constants, for example, were cast.
    */
  private def isFound(
      session: SparkSession,
      wanted: StatisticsAggregate,
      argument: Expression,
      sql: String
  ): Boolean = Try {
    val table = wanted.scan.table
    val schema = table.schema.json
    val of = meaning(Question.writer(table).write(argument))
    found.computeIfAbsent(
      (sql, schema, of),
      _ => {
        val parsed = Messages.mapper.readTree(PredicateParser.parseValue(session, sql, schema))
        parsed.get("refusal").isNull && meaning(parsed.get("document")) == of
      }
    )
  }.getOrElse(false)

  /** Spark's optimizer takes some milliseconds for an expression, which queries repeat. */
  private val found = Collections.synchronizedMap(
    new LinkedHashMap[(String, String, JsonNode), Boolean](16, 0.75f, true) {
      override def removeEldestEntry(e: Entry[(String, String, JsonNode), Boolean]): Boolean =
        size > MostFound
    }
  )

  /** The key of an expression, or the path of a column. */
  private def meaning(document: JsonNode): JsonNode =
    Option(document.get("k")).getOrElse(document.get("p"))
}
