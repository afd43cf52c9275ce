package io.tamis.rules.guards

import io.tamis.formats.iceberg.IcebergRelation

import scala.util.Try

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogTableType, SessionCatalog}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalog}

/** Looks up the tables that `spark.tamis.requireFilter` names. */
private[guards] object GuardedNames {
  private val View = "a view, which it does not check: name the tables that the view reads"
  private val NoName =
    "which is not the name or path of a table: correct it, or give the path of the table"
  private val NoCatalog =
    "whose catalog this session does not have: correct the name, or give the path of the table"
  private val OtherFormat =
    "a table of a format that it does not check: it checks tables of files, of Iceberg and of Delta"
  private val NotYet = notYet("table")

  /** A table or path may be created later. */
  private def notYet(what: String): String =
    s"a $what that does not exist yet: the entry has no effect until it does. Correct the " +
      "name if it is misspelled."

  /** Why no scan can have this name, and what to do; None if one may, or if that is not known. */
  def problemOf(session: ClassicSession, table: GuardedTable): Option[String] =
    if (table.isPath)
      table.qualified(session).flatMap { path =>
        val fs = path.getFileSystem(session.sessionState.newHadoopConf())
        Try(fs.exists(path)).toOption.filterNot(identity).map(_ => notYet("path"))
      }
    else
      table.parts match {
        case None        => Some(NoName)
        case Some(parts) => Try(problemOf(session, parts)).toOption.flatten
      }

  private def problemOf(session: ClassicSession, parts: Seq[String]): Option[String] = {
    val own = parts match {
      case Seq(name)                                      => Some(None -> name)
      case Seq(database, name)                            => Some(Some(database) -> name)
      case Seq(catalog, database, name) if isOwn(catalog) => Some(Some(database) -> name)
      case _                                              => None
    }
    val ofOwn = own.map { case (database, name) =>
      problemOf(session.sessionState.catalog, database, name)
    }
    val used = others(session)
    val ofOthers = namedIn(session, used, parts).map { case (catalog, name) =>
      problemOf(catalog, name)
    }
    val found = ofOwn ++ ofOthers
    // a name without a database may be that of a table in any database of any catalog
    val isAnywhere = parts.size == 1 && used.nonEmpty
    val hasCatalog = parts.size < 3 || isOwn(parts.head) || other(session, parts.head).nonEmpty
    if (found.exists(_.isEmpty)) None
    else
      found.flatten
        .find(_ != NotYet)
        .orElse(Option.when(!isAnywhere)(if (hasCatalog) NotYet else NoCatalog))
  }

  private def problemOf(
      catalog: SessionCatalog,
      database: Option[String],
      name: String
  ): Option[String] = {
    val databases = database.map(Seq(_)).getOrElse(catalog.listDatabases())
    val matching = databases
      .map(db => TableIdentifier(name, Some(db)))
      .filter(id => catalog.databaseExists(id.database.get) && catalog.tableExists(id))
    if (matching.exists(id => catalog.getTableMetadata(id).tableType != CatalogTableType.VIEW))
      None
    else if (matching.nonEmpty || database.isEmpty && catalog.getTempView(name).nonEmpty)
      Some(View)
    else Some(NotYet)
  }

  private def problemOf(catalog: TableCatalog, name: Identifier): Option[String] =
    if (!catalog.tableExists(name)) Some(NotYet)
    else
      Option.when(!IcebergRelation.isOne(catalog.loadTable(name)))(OtherFormat)

  /** The catalogs besides Spark's own that the session has used. */
  private def others(session: ClassicSession): Seq[TableCatalog] =
    session.sessionState.catalogManager.listCatalogs(None).flatMap(other(session, _))

  private def other(session: ClassicSession, name: String): Option[TableCatalog] = {
    val manager = session.sessionState.catalogManager
    Option
      .when(!isOwn(name) && manager.isCatalogRegistered(name))(manager.catalog(name))
      .collect { case catalog: TableCatalog => catalog }
  }

  /** The catalogs that may have a table of this name, with its name there. A name that does not
    * begin with a catalog may belong to each of those that are used.
    */
  private def namedIn(
      session: ClassicSession,
      used: Seq[TableCatalog],
      parts: Seq[String]
  ): Seq[(TableCatalog, Identifier)] = {
    def named(parts: Seq[String]) = Identifier.of(parts.init.toArray, parts.last)
    if (parts.size == 1) Nil
    else
      other(session, parts.head) match {
        case Some(catalog) => Seq(catalog -> named(parts.tail))
        case None          => used.map(_ -> named(parts))
      }
  }

  private def isOwn(catalog: String): Boolean = catalog.equalsIgnoreCase("spark_catalog")
}
