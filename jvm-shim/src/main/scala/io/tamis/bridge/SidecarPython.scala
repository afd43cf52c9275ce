package io.tamis.bridge

import java.nio.file.{Files, Path, Paths}

import scala.util.Try

import org.apache.spark.SparkEnv

/** Chooses the Python that runs the sidecar and locates the tamis package. */
object SidecarPython {

  /** The package directory, if the jar lies in it: `…/tamis/jars/tamis.jar`. None if the jar was
    * copied elsewhere.
    */
  private lazy val packageDirectory: Option[Path] =
    Try(Paths.get(getClass.getProtectionDomain.getCodeSource.getLocation.toURI)).toOption
      .flatMap(jar => Option(jar.getParent))
      .flatMap(jars => Option(jars.getParent))
      .filter(p => Files.exists(p.resolve("__init__.py")) && Files.exists(p.resolve("serve")))

  /** The entry for PYTHONPATH: the directory that holds the package in which the jar lies. */
  def packageRoot: Option[Path] = packageDirectory.map(_.getParent)

  /** Returns the first that is set: spark.tamis.python, the environment in which the jar lies,
    * Spark's own settings, python3.
    */
  def choose(configured: Option[String]): String =
    configured
      .orElse(besideTheJar)
      .orElse(sparkConf("spark.pyspark.driver.python").filter(isPython))
      .orElse(sparkConf("spark.pyspark.python"))
      .orElse(sys.env.get("PYSPARK_DRIVER_PYTHON").filter(isPython))
      .orElse(sys.env.get("PYSPARK_PYTHON"))
      .orElse(sys.env.get("VIRTUAL_ENV").map(_ + "/bin/python"))
      .getOrElse("python3")

  private def besideTheJar: Option[String] =
    packageRoot.flatMap(root => interpreters(root).find(p => Files.isExecutable(p))).map(_.toString)

  /** Where the interpreter for a package may lie, best first: `<environment>/bin/pythonX.Y` for
    * `<environment>/lib/pythonX.Y/site-packages`, `<repository>/.venv/bin/python` for
    * `<repository>/python`. Empty for any other layout, because another Python might lack the
    * dependencies of tamis.
    */
  private[bridge] def interpreters(root: Path): Seq[Path] = root match {
    case Below(Below(Below(environment, "lib" | "lib64"), python), "site-packages")
        if python.startsWith("python") =>
      Seq(python, "python").map(name => environment.resolve("bin").resolve(name))
    case Below(repository, "python") =>
      Seq(repository.resolve(".venv").resolve("bin").resolve("python"))
    case _ => Nil
  }

  /** Matches a path as its directory and its file name. */
  private object Below {
    def unapply(path: Path): Option[(Path, String)] =
      for (name <- Option(path.getFileName); parent <- Option(path.getParent))
        yield (parent, name.toString)
  }

  /** PYSPARK_DRIVER_PYTHON is often ipython or jupyter, which cannot run a module. */
  private def isPython(command: String): Boolean =
    Paths.get(command).getFileName.toString.startsWith("python")

  def sparkConf(key: String): Option[String] =
    Option(SparkEnv.get)
      .flatMap(_.conf.getOption(key))
      .orElse(sys.props.get(key))
      .filter(_.nonEmpty)
}
