package io.tamis.rules.joins

import io.tamis.conf.{Mode, TamisConf}
import io.tamis.rules.goals.GoalPhysicalRule
import io.tamis.runtime.{
  Awaited,
  KeyMembership,
  OwnThreadSubqueryExec,
  RuntimeCondition,
  RuntimeFilterExec,
  ServesFiles
}
import io.tamis.scan.TamisScanExec
import io.tamis.wire.ExpressionWriter
import org.apache.spark.sql.catalyst.expressions.{
  And,
  AttributeReference,
  DynamicPruning,
  DynamicPruningExpression,
  ExprId,
  Expression,
  Literal
}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering
import org.apache.spark.sql.execution.{
  ColumnarRule,
  FilterExec,
  InSubqueryExec,
  ScalarSubquery,
  SparkPlan
}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** Puts conditions over planned subqueries into the form in which Spark hands them to a scan.
  *
  * It is a columnar rule although it does not change columns: such rules see every physical plan
  * after its subqueries were planned, with adaptive execution (each stage) and without.
  *
  *   - A [[RuntimeCondition]] becomes the IN that brings its value to the scan.
  *   - So does Spark's own dynamic pruning of `CAST(column) IN (keys)`, which it plans if the sides
  *     of a join have different types, and then cannot translate for a scan.
  *   - Dynamic pruning that a scan does not take is removed. Spark pushes it through a UNION ALL to
  *     all branches. It leaves it in a filter above a V1 scan, such as one of ORC; outside of
  *     generated code that filter fails: "dynamicpruning has not finished". It hands it to every V2
  *     scan; one of ORC fails: "cannot be cast to SupportsRuntimeV2Filtering". (Both seen on 4.1.3,
  *     also for a union with a partition column of Spark's own scan.) Pruning only saves reading.
  *     With tamis off, only plans that were optimized before are changed.
  */
object PlanRuntimeConditions extends GoalPhysicalRule {
  override protected def rewritten(plan: SparkPlan): SparkPlan = plan.transformUp {
    case TamisScanExec(scan, _) if scan.runtimeFilters.nonEmpty =>
      scan.transformExpressionsDown {
        case RuntimeCondition(condition) => ofScalar(condition)
        case DynamicPruningExpression(in: InSubqueryExec)
            if !in.isInstanceOf[RuntimeFilterExec] && !in.child.isInstanceOf[AttributeReference] =>
          DynamicPruningExpression(ofList(in).getOrElse(in))
      }
    case scan: BatchScanExec
        if scan.runtimeFilters.nonEmpty && mayBeOfTamis(plan) &&
          !scan.scan.isInstanceOf[SupportsRuntimeV2Filtering] =>
      withoutRuntimeFilters(scan)
    case filter @ FilterExec(condition, child)
        if condition.exists(_.isInstanceOf[DynamicPruning]) && mayBeOfTamis(plan) =>
      ExpressionWriter
        .conjuncts(condition)
        .filterNot(_.isInstanceOf[DynamicPruning])
        .reduceLeftOption(And(_, _))
        .fold(child)(rest => filter.copy(condition = rest))
  }

  /** Whether tamis may have taken part in the plan. In a session with tamis off, what Spark alone
    * has planned stays as it is.
    */
  private def mayBeOfTamis(plan: SparkPlan): Boolean =
    TamisConf.mode(conf) != Mode.Off || plan.exists(TamisScanExec.unapply(_).nonEmpty)

  /** By reflection: the other parameters of the constructor depend on the version of Spark. */
  private def withoutRuntimeFilters(scan: BatchScanExec): SparkPlan =
    scan.makeCopy(scan.productIterator.map {
      case filters: AnyRef if filters eq scan.runtimeFilters => Nil
      case other                                             => other.asInstanceOf[AnyRef]
    }.toArray)

  private def ofScalar(condition: Expression): Expression = {
    val subqueries = condition.collect { case s: ScalarSubquery => s }
    val inSubquery = for {
      subquery <- subqueries.headOption
      if subqueries.forall(s => s.exprId == subquery.exprId || s.plan == subquery.plan)
      column <- condition.references.headOption
    } yield {
      val awaiting = condition.transform { case s: ScalarSubquery =>
        Awaited(s.dataType, isList = false)
      }
      val plan = condition match {
        case _: ServesFiles => OwnThreadSubqueryExec.of(subquery.plan) // no filter needs its value
        case _              => subquery.plan
      }
      new RuntimeFilterExec(column, plan, subquery.exprId, byName(awaiting))
    }
    DynamicPruningExpression(inSubquery.getOrElse(Literal.TrueLiteral))
  }

  private def ofList(in: InSubqueryExec): Option[Expression] =
    in.child.references.headOption.filter(_ => in.plan.output.size == 1).map { column =>
      val condition = KeyMembership(in.child, Awaited(in.child.dataType, isList = true))
      new RuntimeFilterExec(column, in.plan, in.exprId, byName(condition))
    }

  /** The expression without attribute ids, so that the same conditions of two scans are equal. */
  private def byName(e: Expression): Expression = e.transform { case a: AttributeReference =>
    AttributeReference(a.name, a.dataType, a.nullable, a.metadata)(ExprId(0), Nil)
  }
}

object RuntimeConditionsRule extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = PlanRuntimeConditions
}
