package io.tamis.rules.guards

import io.tamis.bridge.Warnings
import io.tamis.planning.PlannedFiles
import io.tamis.wire.PredicateParser
import java.util.concurrent.ConcurrentHashMap

import scala.util.Try

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogTableType, SessionCatalog}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}

/** Warns about names in the confs of guards that match nothing, such as misspelled ones.
  *
  * This is a warning and not an error, because a table may be created later, and a conf for all
  * queries may name columns that most queries do not have.
  *
  *   - A table of `spark.tamis.requireFilter` is looked up once, when the first query that does not
  *     scan it is planned.
  *   - A column of `spark.tamis.assertPruned` is compared with the tables that queries scan, until
  *     one of them has it.
  */
private[tamis] object GuardNames {
  private val Most = 10000
  private val settled = ConcurrentHashMap.newKeySet[String]()

  def check(
      session: ClassicSession,
      plan: LogicalPlan,
      tables: Seq[String],
      asserted: Seq[String]
  ): Unit = {
    if (settled.size > Most) settled.clear()
    lazy val scanned = plan.collect { case DecidedScan(table, _) => table }
    tables.map(GuardedTable(_)).filter(t => !t.isEvery && !settled.contains(keyOf(t))).foreach {
      t =>
        settled.add(keyOf(t))
        if (!scanned.exists(t.names(session, _)))
          problemOf(session, t).foreach { problem =>
            Warnings.once(
              s"guards:${keyOf(t)}",
              s"spark.tamis.requireFilter names '${t.written}', $problem"
            )
          }
    }
    asserted.filterNot(text => settled.contains(s"column $text")).foreach { text =>
      if (scanned.exists(hasColumns(session, text, _))) {
        settled.add(s"column $text")
        Warnings.resolved(s"guards:column $text")
      } else if (scanned.nonEmpty)
        Warnings.once(
          s"guards:column $text",
          s"spark.tamis.assertPruned names '$text', but the tables of this query " +
            s"(${scanned.map(_.name()).distinct.mkString(", ")}) do not have such columns. The " +
            "entry applies to queries over tables that do. Correct the name if it is misspelled."
        )
    }
  }

  private val View = "a view, which it does not check: name the tables that the view reads"
  private val NoName =
    "which is not the name or path of a table: correct it, or give the path of the table"
  private val OtherCatalog =
    "which is not in Spark's own catalog: name a table of that catalog, or give the path of the " +
      "table"

  /** A table or path may be created later. */
  private def notYet(what: String): String =
    s"a $what that does not exist yet: the entry has no effect until it does. Correct the " +
      "name if it is misspelled."

  private def keyOf(table: GuardedTable): String = s"table ${table.written}"

  private def hasColumns(session: ClassicSession, text: String, table: PlannedFiles): Boolean =
    PredicateParser.over(session, text, DataTypeUtils.toAttributes(table.schema)) !=
      PredicateParser.OfOtherColumns

  /** Why no scan can have this name, and what to do; None if one may, or if that is not known. */
  private def problemOf(session: ClassicSession, table: GuardedTable): Option[String] =
    if (table.isPath)
      table.qualified(session).flatMap { path =>
        val fs = path.getFileSystem(session.sessionState.newHadoopConf())
        Try(fs.exists(path)).toOption.filterNot(identity).map(_ => notYet("path"))
      }
    else
      Try(session.sessionState.sqlParser.parseMultipartIdentifier(table.written)).toOption match {
        case None        => Some(NoName)
        case Some(parts) => Try(problemOf(session.sessionState.catalog, parts)).toOption.flatten
      }

  private def problemOf(catalog: SessionCatalog, parts: Seq[String]): Option[String] = {
    val named = parts match {
      case Seq(name)                              => Some((None, name))
      case Seq(database, name)                    => Some((Some(database), name))
      case Seq(own, database, name) if isOwn(own) => Some((Some(database), name))
      case _                                      => None
    }
    named match {
      case None                   => Some(OtherCatalog)
      case Some((database, name)) =>
        val databases = database.map(Seq(_)).getOrElse(catalog.listDatabases())
        val matching = databases
          .map(db => TableIdentifier(name, Some(db)))
          .filter(id => catalog.databaseExists(id.database.get) && catalog.tableExists(id))
        if (matching.exists(id => catalog.getTableMetadata(id).tableType != CatalogTableType.VIEW))
          None
        else if (matching.nonEmpty || database.isEmpty && catalog.getTempView(name).nonEmpty)
          Some(View)
        else Some(notYet("table"))
    }
  }

  private def isOwn(catalog: String): Boolean = catalog.equalsIgnoreCase("spark_catalog")
}
