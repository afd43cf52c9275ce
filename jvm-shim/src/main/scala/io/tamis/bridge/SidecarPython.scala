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

  /** `<environment>/lib/pythonX.Y/site-packages/tamis` has its interpreter at
    * `<environment>/bin/python`.
    */
  private def besideTheJar: Option[String] =
    packageRoot
      .flatMap(site => Option(site.getParent))
      .flatMap(lib => Option(lib.getParent))
      .flatMap(lib => Option(lib.getParent))
      .map(_.resolve("bin").resolve("python"))
      .filter(p => Files.isExecutable(p))
      .map(_.toString)

  /** PYSPARK_DRIVER_PYTHON is often ipython or jupyter, which are no interpreters of modules. */
  private def isPython(command: String): Boolean =
    Paths.get(command).getFileName.toString.startsWith("python")

  def sparkConf(key: String): Option[String] =
    Option(SparkEnv.get)
      .flatMap(_.conf.getOption(key))
      .orElse(sys.props.get(key))
      .filter(_.nonEmpty)
}
