package io.tamis.remote

import java.nio.file.{Files, Paths}

import scala.util.Try

import org.apache.spark.SparkContext

/** The jar of tamis, which executors need to read remote tables, and to note what they read. */
private[tamis] object ExecutorJar {

  /** The jar that this class comes from. None if it is elsewhere, such as in a directory. */
  private lazy val path: Option[String] =
    Try(Paths.get(getClass.getProtectionDomain.getCodeSource.getLocation.toURI)).toOption
      .filter(Files.isRegularFile(_))
      .map(_.toString)

  /** Sends the jar to executors, like `spark.jars`, unless that has sent it already. */
  def ship(context: SparkContext): Unit =
    for (jar <- path if !context.isLocal && !isSent(jar, context)) context.addJar(jar)

  /** Whether executors have it. Parquet tables are read without it if not. */
  def isThere(context: SparkContext): Boolean = context.isLocal || path.exists { jar =>
    isSent(jar, context) ||
    context.getConf.get("spark.executor.extraClassPath", "").contains(nameOf(jar))
  }

  private def isSent(jar: String, context: SparkContext): Boolean =
    context.listJars().exists(_.endsWith("/" + nameOf(jar)))
  private def nameOf(jar: String): String = Paths.get(jar).getFileName.toString
}
