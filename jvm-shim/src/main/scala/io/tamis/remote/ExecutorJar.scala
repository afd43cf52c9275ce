package io.tamis.remote

import java.nio.file.{Files, Paths}

import scala.util.Try

import org.apache.spark.SparkContext

/** The jar of tamis, which executors need to read remote tables. Parquet tables do not need it. */
private[remote] object ExecutorJar {

  /** The jar that this class comes from. None if it is elsewhere, such as in a directory. */
  private lazy val path: Option[String] =
    Try(Paths.get(getClass.getProtectionDomain.getCodeSource.getLocation.toURI)).toOption
      .filter(Files.isRegularFile(_))
      .map(_.toString)

  /** Sends the jar to executors, like `spark.jars`, unless that has sent it already. */
  def ship(context: SparkContext): Unit =
    for (jar <- path if !context.isLocal) {
      val name = Paths.get(jar).getFileName.toString
      if (!context.listJars().exists(_.endsWith("/" + name))) context.addJar(jar)
    }
}
