package io.tamis.rules.guards

import io.tamis.bridge.{AnyFailure, Warnings}
import io.tamis.conf.TamisConf
import io.tamis.listing.PartitionPredicate
import io.tamis.planning.{Conjunct, Decision, PlannedFiles, ScanDetail, SwappedFiles}
import io.tamis.rules.filters.SplitResidual
import io.tamis.rules.relations.{Eligibility, FileRelation, SwapFileIndex, TamisScanRelation}
import io.tamis.wire.{PredicateParser, Pushdown}
import java.util.Locale

import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression, IsNotNull}
import org.apache.spark.sql.catalyst.parser.{CatalystSqlParser, ParseException}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.CatalogFileIndex
import org.apache.spark.sql.internal.SQLConf

/** A query that a guard refuses. PySpark raises it as UnsupportedOperationException. */
final class QueryRefused(message: String) extends UnsupportedOperationException(message)

/** Refuses queries, depending on the decisions about their scans, if a conf requires it:
  *
  *   - `spark.tamis.requireFilter`: scans of these tables must leave out some file or row group;
  *   - `spark.tamis.assertPruned`: these conjuncts must prune in every query that has them.
  *
  * It is a strategy that plans nothing: it sees every logical plan, including subqueries and cached
  * plans, after all scans were built. Any other failure in this class does not stop the query.
  */
final class Guards(session: SparkSession) extends SparkStrategy {
  private val classic = session.asInstanceOf[ClassicSession]

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    val conf = SQLConf.get
    val (tables, asserted) = (TamisConf.requireFilter(conf), TamisConf.assertPruned(conf))
    if (TamisConf.isGuarded(conf))
      try {
        if (tables.nonEmpty) new RequiredFilter(classic, tables).check(plan)
        if (asserted.nonEmpty) plan.foreach(AssertedPruning.check(classic, _, asserted))
        GuardNames.check(classic, plan, tables, asserted)
      } catch {
        case refused: QueryRefused => throw refused
        case AnyFailure(e)         =>
          Warnings.once(
            s"guards:${e.getClass.getName}",
            "the guards (spark.tamis.requireFilter, spark.tamis.assertPruned) could not be " +
              s"checked ($e). Report this error. This query runs without them.",
            e
          )
      }
    Nil
  }
}

/** Matches a scan with a decision, whether tamis or Spark reads its files. */
private[tamis] object DecidedScan {
  def unapply(node: LogicalPlan): Option[(PlannedFiles, Decision)] = node match {
    case TamisScanRelation(scan)               => Some((scan.table, scan.decision))
    case FileRelation(_, SwapFileIndex(index)) => Some((index.files, index.decision))
    case _                                     => None
  }
}

/** A table as written in `spark.tamis.requireFilter`: its name in its catalog, with or without the
  * catalog and the database, or the path of one of its directories.
  */
private[tamis] final case class GuardedTable(written: String) {
  val isEvery: Boolean = written == "*"
  val isPath: Boolean = written.contains("/")

  /** The parts of the name; None: it is not a name of SQL. */
  lazy val parts: Option[Seq[String]] =
    Try(CatalystSqlParser.parseMultipartIdentifier(written)).toOption

  private lazy val lower =
    parts.fold(written)(_.mkString(".")).toLowerCase(Locale.ROOT)

  def names(session: ClassicSession, files: PlannedFiles): Boolean = isEvery || {
    val name = files.tableName.map(_.toLowerCase(Locale.ROOT))
    name.exists(n => n == lower || n.endsWith("." + lower)) ||
    (isPath && {
      val spellings = Seq(Some(new Path(written)), qualified(session)).flatten.map(_.toString).toSet
      files.relation.location.rootPaths.exists(p => spellings(p.toString))
    })
  }

  /** The path with its scheme and authority; None if its file system is not known. */
  def qualified(session: ClassicSession): Option[Path] = Try {
    val path = new Path(written)
    path.getFileSystem(session.sessionState.newHadoopConf()).makeQualified(path)
  }.toOption
}

private final class RequiredFilter(session: ClassicSession, guarded: Seq[String]) {
  private val tables = guarded.map(GuardedTable(_))

  def check(plan: LogicalPlan): Unit = {
    val scans = plan.collect { case DecidedScan(table, decision) => (table, decision) }
    val filtered = plan.collect { case Filter(condition, relation) => relation -> condition }
    plan.foreach {
      case DecidedScan(table, decision) =>
        // the answer of a planner that is not available is unknown
        if (decision.fallback.isEmpty && isGuarded(table) && !readsAPart(table, decision, scans))
          refuse(table.name(), tried(decision))
      case FileRelation(relation, files) if Eligibility.swapRefusal(relation).isEmpty =>
        val table = SwappedFiles(files.sparkSession, files, relation.catalogTable)
        if (isGuarded(table)) {
          val condition = filtered.collectFirst { case (below, c) if below eq relation => c }
          SwapFileIndex
            .refusal(relation, condition)
            .filterNot(_.isUnanswered)
            .foreach { why =>
              val sentence = why.sentence.stripSuffix(".")
              refuse(table.name(), s"Spark reads all of its files: $sentence. ")
            }
        }
      case _ => ()
    }
  }

  private def isGuarded(table: PlannedFiles): Boolean = tables.exists(_.names(session, table))

  /** Whether some file or row group of the table is not read: because of a predicate, or because
    * rules confined the scan (LIMIT, join keys, statistics that answer an aggregate).
    */
  private def readsAPart(
      table: PlannedFiles,
      decision: Decision,
      scans: Seq[(PlannedFiles, Decision)]
  ): Boolean = {
    val kept = decision.kept
    kept.count == 0 || !kept.ranges.isEmpty ||
    allOf(table, decision, scans).cardinality < kept.listing.tableSize.files ||
    leavesOutPartitions(table, decision) || hasNoChoice(decision)
  }

  /** The files that the scan reads, plus those of its twin if SplitResidual split a scan in two:
    * together they may read the whole table.
    */
  private def allOf(
      table: PlannedFiles,
      decision: Decision,
      scans: Seq[(PlannedFiles, Decision)]
  ): java.util.BitSet = {
    val files = decision.kept.ordinals
    if (SplitResidual.isPart(table.purpose))
      scans.foreach { case (other, its) =>
        val isTwin = SplitResidual.isPart(other.purpose) &&
          (its.kept.listing eq decision.kept.listing) &&
          its.conjuncts.map(_.sql).toSet == decision.conjuncts.map(_.sql).toSet
        if (isTwin) files.or(its.kept.ordinals)
      }
    files
  }

  /** Whether the predicates leave out partitions of the metastore. The listing cannot tell: it does
    * not contain the partitions that were left out, nor those without files.
    */
  private def leavesOutPartitions(table: PlannedFiles, decision: Decision): Boolean =
    (table.relation.location, table.catalogTable) match {
      case (_: CatalogFileIndex, Some(metadata)) =>
        val schema = table.relation.partitionSchema
        val predicates = decision.conjuncts
          .filter(isPredicate)
          .flatMap(c => PartitionPredicate.impliedBy(c.expression, schema))
        predicates.nonEmpty && {
          val (catalog, name) = (session.sessionState.catalog, metadata.identifier)
          catalog.listPartitionsByFilter(name, predicates).size <
            catalog.listPartitionNames(name).size
        }
      case _ => false
    }

  /** Whether the table has one file and one row group, so that no predicate can leave out a part.
    * In that case it is enough if a predicate can be checked against statistics and is not true for
    * every row.
    */
  private def hasNoChoice(decision: Decision): Boolean =
    decision.kept.listing.size == 1 &&
      decision.rowGroups.flatMap(_.total).forall(_ <= 1) &&
      decision.conjuncts.exists(c => c.pushdown == Pushdown.Inexact && isPredicate(c))

  /** Spark infers IS NOT NULL from every comparison and join, so it does not count. */
  private def isPredicate(c: Conjunct): Boolean = !c.expression.isInstanceOf[IsNotNull]

  /** What the predicates of a scan came to, with the space behind it. */
  private def tried(decision: Decision): String = {
    val each = decision.conjuncts.filter(isPredicate).map { c =>
      val why = c.reason.map(_.sentence).getOrElse("it is true for every row")
      s"\n  ${c.sql}: $why"
    }
    if (each.isEmpty)
      "no filter rules out a file. Filter on a column by which the files are clustered or " +
        "partitioned, and build the statistics index. "
    else s"its filters rule out no file (${decision.kept.listing.size} in all):${each.mkString}\n"
  }

  private def refuse(name: String, why: String): Nothing = throw new QueryRefused(
    s"tamis: a scan of $name must skip a file or a row group (spark.tamis.requireFilter), but " +
      s"${why}To read the whole table, first run: SET spark.tamis.requireFilter="
  )
}

private object AssertedPruning {
  def check(session: ClassicSession, node: LogicalPlan, asserted: Seq[String]): Unit = node match {
    case DecidedScan(table, decision) if decision.conjuncts.nonEmpty =>
      val named = asserted.flatMap(text => matching(session, text, decision).map(text -> _))
      if (named.nonEmpty) {
        val pruned = prunedAlone(table, decision)
        named.foreach { case (text, c) =>
          pruned(c) match {
            case (Some(0), total) if total > 0 =>
              val why = decision.fallback.orElse(c.reason.map(_.sentence))
              refuse(
                s"$text, but ${c.sql} rules out no file of ${table.name()} ($total in all)",
                why.getOrElse("every file may hold a row that passes")
              )
            case (None, total) if total > 0 =>
              refuse(
                s"$text, but it is not known whether ${c.sql} rules out a file of ${table.name()}",
                decision.fallback.getOrElse("the planner did not answer")
              )
            case _ => ()
          }
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
            s"tamis: correct spark.tamis.assertPruned: '$text' is not valid SQL: ${e.getMessage}"
          )
      }
    read match {
      case PredicateParser.OfOtherColumns    => Nil
      case PredicateParser.AColumn(column)   => decision.conjuncts.filter(isAbout(_, column))
      case PredicateParser.Predicates(parts) =>
        decision.conjuncts.filter(c => parts.exists(_.semanticEquals(c.expression)))
    }
  }

  /** IS NOT NULL does not count: it is inferred, and prunes what others prune. */
  private def isAbout(c: Conjunct, column: Expression): Boolean =
    !c.expression.isInstanceOf[IsNotNull] && c.expression.exists(_.semanticEquals(column))

  /** For each conjunct, the number of files that it prunes on its own (None: not known), and the
    * number of all files.
    */
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

  private def refuse(what: String, why: String): Nothing = throw new QueryRefused(
    s"tamis: spark.tamis.assertPruned names $what: ${why.stripSuffix(".")}. To run the query " +
      "anyway, first run: SET spark.tamis.assertPruned="
  )
}
