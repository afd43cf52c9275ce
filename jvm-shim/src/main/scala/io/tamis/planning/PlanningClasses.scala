package io.tamis.planning

import io.tamis.bridge.AnyFailure
import java.nio.file.{Files, Paths}
import java.util.jar.JarFile

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** The classes that planning a scan needs. Most of the time that tamis adds to the first query of a
  * driver is the JVM's, which loads and verifies them.
  */
private[planning] object PlanningClasses {

  /** The classes of the jar of a class.
    *
    * @param prefixes
    *   how the paths of the classes begin. A class that another version of Spark does not have
    *   costs nothing.
    */
  private[planning] final case class InJar(of: Class[_], prefixes: Seq[String])

  private val tamis = InJar(
    getClass,
    Seq(
      "bridge/Pl",
      "bridge/St",
      "formats/FormatFailure",
      "formats/delta/",
      "listing/",
      "planning/",
      "remote/RemoteTable",
      "rules/RowOrder",
      "rules/filters/",
      "rules/goals/",
      "rules/joins/",
      "rules/partitions/",
      "rules/relations/",
      "runtime/",
      "scan/",
      "wire/"
    ).map("io/tamis/" + _)
  )

  private val execution = InJar(
    classOf[BatchScanExec],
    Seq(
      "PartitionedFileUtil",
      "datasources/FilePartition",
      "datasources/PartitioningAwareFileIndex",
      "datasources/v2/BatchScanExec",
      "datasources/v2/DataSourceRDD",
      "datasources/v2/DataSourceV2S",
      "datasources/v2/FileScan",
      "datasources/v2/FileTable",
      "datasources/v2/PushDownUtils",
      "datasources/v2/ScanBuilderHolder",
      "datasources/v2/V1ScanWrapper",
      "datasources/v2/V2ScanRelationPushDown",
      "datasources/v2/parquet/ParquetScan",
      "datasources/v2/python/PythonTable"
    ).map("org/apache/spark/sql/execution/" + _)
  )

  private val catalyst = InJar(
    classOf[Scan],
    Seq(
      "catalyst/expressions/ProjectionOverSchema",
      "connector/catalog/CatalogV2",
      "connector/catalog/ColumnDefaultValue",
      "connector/read/S",
      "connector/read/partitioning/",
      "execution/datasources/v2/DataSourceV2",
      "internal/connector/"
    ).map("org/apache/spark/sql/" + _)
  )

  /** Loads and verifies the classes, one after the other, while `isWanted`. Initializes none. */
  def load(isWanted: => Boolean): Unit =
    all.iterator
      .flatMap(names)
      .takeWhile(_ => isWanted)
      .foreach(name =>
        try verify(Class.forName(name, false, getClass.getClassLoader))
        catch { case AnyFailure(_) => } // such as a class that this version of Spark does not have
      )

  private[planning] val all: Seq[InJar] = Seq(tamis, catalyst, execution)

  /** The JVM verifies a class before it lists its methods. */
  private def verify(of: Class[_]): Unit = of.getDeclaredMethods: Unit

  /** The names of the classes: none if they come from something else than a jar or a directory. */
  private[planning] def names(part: InJar): Seq[String] =
    paths(part.of)
      .filter(path => path.endsWith(Suffix) && part.prefixes.exists(path.startsWith))
      .map(_.stripSuffix(Suffix).replace('/', '.'))

  /** The paths of everything in the jar of a class. */
  private def paths(of: Class[_]): Seq[String] =
    Try(Paths.get(of.getProtectionDomain.getCodeSource.getLocation.toURI)).toOption match {
      case Some(jar) if Files.isRegularFile(jar) =>
        Using.resource(new JarFile(jar.toFile))(_.stream.iterator.asScala.map(_.getName).toSeq)
      case Some(root) if Files.isDirectory(root) =>
        Using.resource(Files.walk(root))(_.iterator.asScala.map(root.relativize(_).toString).toSeq)
      case _ => Nil
    }

  private val Suffix = ".class"
}
