package io.tamis.rules

import scala.util.control.NonFatal

import io.tamis.bridge.Warnings
import io.tamis.conf.TamisConf
import io.tamis.source.{Conjunct, Decision, PlannedFiles, ScanDetail, SwappedFiles}
import io.tamis.wire.PredicateParser
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression, IsNotNull}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf

/** A query that a guard refuses. PySpark raises it as UnsupportedOperationException. */
final class QueryRefused(message: String) extends UnsupportedOperationException(message)

/** Refuses queries by what was decided of their scans, where somebody asked for that:
  *
  *   - `spark.tamis.requireFilter`: scans of these tables want a predicate that statistics or
  *     partitions can use;
  *   - `spark.tamis.assertPruned`: these conjuncts, wherever a query has them, have to prune.
  *
  * A strategy that plans nothing: it sees every logical plan, subqueries and cached ones included,
  * after all scans were built. Nothing else that goes wrong here stops a query.
  */
final class Guards(session: SparkSession) extends SparkStrategy {
  private val classic = session.asInstanceOf[ClassicSession]

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    val conf = SQLConf.get
    val (tables, asserted) = (TamisConf.requireFilter(conf), TamisConf.assertPruned(conf))
    val asked = tables.nonEmpty || asserted.nonEmpty
    if (asked && TamisConf.enabled(conf) && TamisConf.mode(conf) == "apply")
      try {
        plan.foreach { node =>
          if (tables.nonEmpty) RequiredFilter.check(node, tables)
          if (asserted.nonEmpty) AssertedPruning.check(classic, node, asserted)
        }
      } catch {
        case refused: QueryRefused               => throw refused
        case e @ (NonFatal(_) | _: LinkageError) =>
          Warnings.once(
            s"guards:${e.getClass.getName}",
            s"a guard could not be applied (${e.getMessage}). The query runs.",
            e
          )
      }
    Nil
  }
}

/** What was decided of a scan, whoever reads its files. */
private object DecidedScan {
  def unapply(node: LogicalPlan): Option[(PlannedFiles, Decision)] = node match {
    case TamisScanRelation(scan)   => Some((scan.table, scan.decision))
    case relation: LogicalRelation =>
      relation.relation match {
        case SwapFileIndex(index) => Some((index.files, index.decision))
        case _                    => None
      }
    case _ => None
  }
}

private object RequiredFilter {
  def check(node: LogicalPlan, tables: Seq[String]): Unit = node match {
    case DecidedScan(table, decision) =>
      // of a planner that could not be asked nobody knows what it would have said
      if (decision.fallback.isEmpty && !readsAPart(table, decision) && names(tables, table))
        refuse(table.name(), decision.conjuncts)
    case relation: LogicalRelation if Eligibility.swapRefusal(relation).isEmpty =>
      val files = relation.relation.asInstanceOf[HadoopFsRelation]
      val table = SwappedFiles(files.sparkSession, files, relation.catalogTable)
      if (names(tables, table)) refuse(table.name(), Nil)
    case _ => ()
  }

  /** IS NOT NULL is what Spark infers of every comparison and join. What rules confined a scan to
    * (a LIMIT, keys of a join, the other part of a split scan) is as good as a predicate.
    */
  private def readsAPart(table: PlannedFiles, decision: Decision): Boolean =
    table.purpose.within.exists(!_.isAll) || decision.conjuncts.exists { c =>
      c.pushdown != "unsupported" && !c.expression.isInstanceOf[IsNotNull]
    }

  /** By its name, with or without the database, or by the path of one of its directories. */
  private def names(tables: Seq[String], files: PlannedFiles): Boolean = {
    val name = files.catalogTable.map(_.identifier.unquotedString.toLowerCase)
    val paths = files.relation.location.rootPaths.map(_.toString)
    tables.exists { table =>
      val (lower, path) = (table.toLowerCase, table.stripSuffix("/"))
      table == "*" || name.exists(n => n == lower || n.endsWith("." + lower)) ||
      paths.exists(p => p == path || p == "file:" + path)
    }
  }

  private def refuse(name: String, conjuncts: Seq[Conjunct]): Nothing = {
    val tried = conjuncts
      .filterNot(_.expression.isInstanceOf[IsNotNull])
      .map(c => c.sql + c.reason.fold("")(r => s" (${r.sentence})"))
    throw new QueryRefused(
      s"tamis: a scan of $name needs a predicate that prunes (spark.tamis.requireFilter), and has " +
        (if (tried.isEmpty)
           "none. Add a filter on a column that its files are clustered or " +
             "partitioned by"
         else s"only ${tried.mkString(", ")}") +
        ". To read all of it, set spark.tamis.requireFilter to nothing for this query."
    )
  }
}

private object AssertedPruning {
  def check(session: ClassicSession, node: LogicalPlan, asserted: Seq[String]): Unit = node match {
    case DecidedScan(table, decision) if decision.conjuncts.nonEmpty =>
      val named = asserted.flatMap(text => matching(session, text, decision).map(text -> _))
      if (named.nonEmpty) {
        val pruned = prunedAlone(table, decision)
        named.foreach { case (text, c) =>
          val (files, of) = pruned(c)
          if (files.forall(_ == 0) && of > 0) refuse(table.name(), text, c, decision, of)
        }
      }
    case _ => ()
  }

  private def matching(session: ClassicSession, text: String, decision: Decision): Seq[Conjunct] = {
    val columns = decision.conjuncts.flatMap(_.expression.references.toSeq)
    val read =
      try PredicateParser.over(session, text, AttributeSet(columns).toSeq)
      catch {
        case e: ParseException =>
          throw new QueryRefused(
            s"tamis: spark.tamis.assertPruned: '$text' is no SQL: ${e.getMessage}"
          )
      }
    read match {
      case PredicateParser.OfOtherColumns    => Nil
      case PredicateParser.AColumn(column)   => decision.conjuncts.filter(isAbout(_, column))
      case PredicateParser.Predicates(parts) =>
        decision.conjuncts.filter(c => parts.exists(_.semanticEquals(c.expression)))
    }
  }

  /** IS NOT NULL is inferred, and prunes what others prune. */
  private def isAbout(c: Conjunct, column: Expression): Boolean =
    !c.expression.isInstanceOf[IsNotNull] && c.expression.exists(_.semanticEquals(column))

  /** Of each conjunct the files that it prunes on its own (None: nobody knows), of how many. */
  private def prunedAlone(
      table: PlannedFiles,
      decision: Decision
  ): Map[Conjunct, (Option[Long], Int)] = {
    val detail = new ScanDetail(table, decision)
    val answer = detail.effects()
    decision.conjuncts.zipWithIndex.map { case (c, i) =>
      c -> (answer.toOption.flatMap(_.outcomes(i).prunedFiles), detail.listing.size)
    }.toMap
  }

  private def refuse(
      name: String,
      text: String,
      c: Conjunct,
      decision: Decision,
      files: Int
  ): Nothing = throw new QueryRefused(
    s"tamis: ${c.sql} pruned none of the $files files of $name, and spark.tamis.assertPruned names " +
      s"$text. " + decision.fallback
        .orElse(c.reason.map(_.sentence))
        .getOrElse("Every file may hold a row that passes") + "."
  )
}
