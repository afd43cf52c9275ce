package io.tamis.planning

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.InjectRuntimeFilter
import org.apache.spark.sql.internal.SQLConf

/** Whether Spark expects a predicate to drop many rows.
  *
  * This is Spark's own answer, so that both agree on every version: InjectRuntimeFilter inherits
  * isLikelySelective from PredicateHelper, as PartitionPruning does (a public method with the same
  * body on 4.0 to 4.3).
  */
object SeemsSelective {
  def apply(predicate: Expression): Boolean = InjectRuntimeFilter.isLikelySelective(predicate)
}

/** A rule of Spark that looks for a filter over a scan, and the scans for which it does.
  * [[io.tamis.rules.filters.KeepUsedFilters]] lists the rules and decides where they apply.
  *
  * @param above
  *   the kept files have more bytes than this
  * @param upTo
  *   the kept files have at most this many bytes
  * @param simpleOnly
  *   the rule evaluates the whole filter once more, and therefore accepts only cheap predicates
  * @param anyPredicate
  *   every predicate except IS NOT NULL counts; false: only those that are [[SeemsSelective]]
  */
final case class FilterUse(
    above: Long,
    upTo: Long,
    simpleOnly: Boolean = false,
    anyPredicate: Boolean = false
) {
  def covers(bytes: Long): Boolean = above < bytes && bytes <= upTo

  /** Whether a filter of these conjuncts is one that the rule looks for. */
  def isServedBy(conjuncts: Seq[Expression]): Boolean =
    conjuncts.exists(isServedBy) && (!simpleOnly || conjuncts.forall(UsedFilters.isSimple))

  private def isServedBy(conjunct: Expression): Boolean =
    if (anyPredicate) !conjunct.isInstanceOf[IsNotNull] else SeemsSelective(conjunct)
}

/** Leaves one exact conjunct in the plan if a rule of Spark would find no filter without it.
  *
  * The conjunct is true for every row that is read, so the result is the same. It never costs more
  * than in plain Spark, which evaluates the whole filter.
  */
object UsedFilters {
  def leftIn(decision: Decision, uses: Seq[FilterUse], conf: SQLConf = SQLConf.get): Decision = {
    // Spark estimates the size of a V1 relation as this multiple of its files
    val bytes = (decision.kept.bytes * conf.fileCompressionFactor).toLong
    uses.filter(_.covers(bytes)).foldLeft(decision)(leftFor)
  }

  private def leftFor(decision: Decision, use: FilterUse): Decision = {
    val residual = decision.residual
    if (use.isServedBy(residual)) decision
    else
      decision.conjuncts.zipWithIndex
        .filter { case (c, _) => c.isExact && use.isServedBy(residual :+ c.expression) }
        .minByOption { case (c, _) => cost(c.expression) }
        .fold(decision) { case (c, i) =>
          val left = c.leftInPlan(LeftInPlan.NeededByJoinRules)
          decision.copy(conjuncts = decision.conjuncts.updated(i, left))
        }
  }

  /** Ranks conjuncts by cost; the cheapest one is left: a comparison of a number, else a list, else
    * text.
    */
  private def cost(e: Expression): (Int, Int) = {
    val kind = e match {
      case b: BinaryComparison if b.left.dataType.defaultSize <= 8 => 0
      case _: BinaryComparison                                     => 1
      case _: In | _: InSet                                        => 2
      case _                                                       => 3
    }
    (kind, e.collect { case part => part }.size)
  }

  /** InjectRuntimeFilter.isSimpleExpression: a private method, which is public in the bytecode of
    * 4.0 to 4.3 under a mangled name. If it is missing, every conjunct counts as simple: a conjunct
    * that is left without effect costs what it costs in plain Spark.
    */
  private lazy val spark = InjectRuntimeFilter.getClass.getMethods.find { m =>
    m.getName.endsWith("$$isSimpleExpression") && m.getParameterCount == 1
  }

  def isSimple(e: Expression): Boolean =
    spark.forall(_.invoke(InjectRuntimeFilter, e).asInstanceOf[Boolean])
}
