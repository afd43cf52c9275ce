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
              s"spark.tamis.requireFilter names '${t.written}', $problem. This " +
                "entry has no effect. Name a catalog table, or give the path of any other table."
            )
          }
    }
    asserted.filterNot(text => settled.contains(s"column $text")).foreach { text =>
      if (scanned.exists(hasColumns(session, text, _))) {
        settled.add(s"column $text")
        Warnings.over(s"guards:column $text")
      } else if (scanned.nonEmpty)
        Warnings.once(
          s"guards:column $text",
          s"spark.tamis.assertPruned names '$text', but no table scanned so far has such " +
            s"columns (${scanned.map(_.name()).distinct.mkString(", ")}). This " +
            "entry has had no effect so far. Correct the name if it is misspelled."
        )
    }
  }

  private def keyOf(table: GuardedTable): String = s"table ${table.written}"

  private def hasColumns(session: ClassicSession, text: String, table: PlannedFiles): Boolean =
    PredicateParser.over(session, text, DataTypeUtils.toAttributes(table.schema)) !=
      PredicateParser.OfOtherColumns

  /** Why no scan can have this name; None if one may, or if that is not known. */
  private def problemOf(session: ClassicSession, table: GuardedTable): Option[String] =
    if (table.isPath)
      table.qualified(session).flatMap { path =>
        val fs = path.getFileSystem(session.sessionState.newHadoopConf())
        Try(fs.exists(path)).toOption.filterNot(identity).map(_ => "a path that does not exist")
      }
    else
      Try(session.sessionState.sqlParser.parseMultipartIdentifier(table.written)).toOption match {
        case None        => Some("which is neither a name nor a path")
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
      case None                   => Some("which is not in Spark's own catalog")
      case Some((database, name)) =>
        val databases = database.map(Seq(_)).getOrElse(catalog.listDatabases())
        val matching = databases
          .map(db => TableIdentifier(name, Some(db)))
          .filter(id => catalog.databaseExists(id.database.get) && catalog.tableExists(id))
        if (matching.exists(id => catalog.getTableMetadata(id).tableType != CatalogTableType.VIEW))
          None
        else if (matching.nonEmpty || database.isEmpty && catalog.getTempView(name).nonEmpty)
          Some("a view: name the tables that it reads")
        else Some("a table that does not exist")
    }
  }

  private def isOwn(catalog: String): Boolean = catalog.equalsIgnoreCase("spark_catalog")
}
