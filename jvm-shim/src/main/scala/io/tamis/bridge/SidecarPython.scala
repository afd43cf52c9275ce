package io.tamis.bridge

import java.nio.file.{Files, Path, Paths}

import scala.util.Try

import org.apache.spark.SparkEnv

/** Which Python runs the sidecar, and where it finds the package. */
object SidecarPython {

  /** The jar as it lies in the package: `…/tamis/jars/tamis.jar`. None where it was copied
    * elsewhere.
    */
  private lazy val packageDirectory: Option[Path] =
    Try(Paths.get(getClass.getProtectionDomain.getCodeSource.getLocation.toURI)).toOption
      .flatMap(jar => Option(jar.getParent))
      .flatMap(jars => Option(jars.getParent))
      .filter(p => Files.exists(p.resolve("__init__.py")) && Files.exists(p.resolve("serve")))

  /** For PYTHONPATH: the directory that holds the package beside which the jar lies. */
  def packageRoot: Option[Path] = packageDirectory.map(_.getParent)

  /** First that is set: spark.tamis.python, the environment that the jar lies in, Spark's own
    * settings, python3.
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

  /** Where the interpreter of a package may lie, best first: `<environment>/bin/pythonX.Y` of
    * `<environment>/lib/pythonX.Y/site-packages`, `<repository>/.venv/bin/python` of
    * `<repository>/python`. Nothing for any other layout: another Python might lack what tamis
    * needs.
    */
  private[bridge] def interpreters(root: Path): Seq[Path] = root match {
    case Below(Below(Below(environment, "lib" | "lib64"), python), "site-packages")
        if python.startsWith("python") =>
      Seq(python, "python").map(name => environment.resolve("bin").resolve(name))
    case Below(repository, "python") =>
      Seq(repository.resolve(".venv").resolve("bin").resolve("python"))
    case _ => Nil
  }

  /** A path as its directory and its name. */
  private object Below {
    def unapply(path: Path): Option[(Path, String)] =
      for (name <- Option(path.getFileName); parent <- Option(path.getParent))
        yield (parent, name.toString)
  }

  /** PYSPARK_DRIVER_PYTHON is often ipython or jupyter, which are no interpreters of modules. */
  private def isPython(command: String): Boolean =
    Paths.get(command).getFileName.toString.startsWith("python")

  def sparkConf(key: String): Option[String] =
    Option(SparkEnv.get)
      .flatMap(_.conf.getOption(key))
      .orElse(sys.props.get(key))
      .filter(_.nonEmpty)
}
