package io.tamis.bridge

import java.io.{File, IOException}

/** The environment of a Python process that uses pyspark: for data sources, and for maintenance. */
private[tamis] object PythonEnvironment {

  /** How users choose the interpreter, for errors. */
  val Choice: String =
    "Set PYSPARK_PYTHON (or spark.pyspark.python of spark-submit), and PYSPARK_DRIVER_PYTHON if " +
      "it is set already, to"

  /** Says that an interpreter cannot be run, and what to do. */
  def missing(interpreter: String, problem: IOException): String =
    s"cannot run the Python interpreter $interpreter (${problem.getMessage}). $Choice a Python that " +
      "the driver and every executor have."

  def fill(builder: ProcessBuilder, variables: Map[String, String]): Unit = {
    val environment = builder.environment
    val inherited = Option(environment.get("PYTHONPATH"))
    variables.foreach { case (name, value) => environment.put(name, value) }
    val path = Seq(Some(SparkPythonPath.get()), variables.get("PYTHONPATH"), inherited).flatten
    environment.put("PYTHONPATH", path.filter(_.nonEmpty).mkString(File.pathSeparator))
    environment.put("PYTHONUNBUFFERED", "1")
  }
}
