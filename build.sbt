// The Spark extension: Scala and Java sources in jvm-shim/, packed as one jar without dependencies.
// It is compiled against the jars of an installed pyspark, which ./sbt locates, so that it is built
// for the Spark that it is tested with.

val sparkJars = file(
  sys.props
    .getOrElse("tamis.spark.jars", sys.error("start sbt through ./sbt: it finds Spark's jars"))
)
val python = sys.props.getOrElse("tamis.python", "python3")

// The exact Scala version of Spark: 4.0 has 2.13.16, 4.1 2.13.17, 4.2 and 4.3 2.13.18.
val sparkScalaVersion = {
  val Library = """scala-library-(\d+\.\d+\.\d+)\.jar""".r
  sparkJars
    .list()
    .toSeq
    .collectFirst { case Library(version) => version }
    .getOrElse(sys.error(s"no scala-library jar in $sparkJars"))
}

// The Spark version of those jars.
lazy val sparkVersion = {
  val Core = """spark-core_2\.13-(.+)\.jar""".r
  sparkJars
    .list()
    .toSeq
    .collectFirst { case Core(version) => version }
    .getOrElse(sys.error(s"no spark-core jar in $sparkJars"))
}

// The single source of the version; pyproject.toml reads the same file.
val tamisVersion = {
  val Line = """__version__ = "(.+)"""".r
  IO.readLines(file("python/tamis/_version.py"))
    .collectFirst { case Line(version) => version }
    .getOrElse(sys.error("no __version__ in python/tamis/_version.py"))
}

// The wire version of the jar, for tools that only inspect it (python -m tamis doctor).
val wireVersion = {
  val Line = """  val Version = (\d+)""".r
  val source = file("jvm-shim/src/main/scala/io/tamis/wire/Messages.scala")
  IO.readLines(source)
    .collectFirst { case Line(version) => version }
    .getOrElse(sys.error(s"no Version in $source"))
}

// Packages that Spark opens on JDK 17 and newer (org.apache.spark.launcher.JavaModuleOptions).
val moduleOptions = Seq(
  "java.base/java.lang",
  "java.base/java.lang.invoke",
  "java.base/java.lang.reflect",
  "java.base/java.io",
  "java.base/java.net",
  "java.base/java.nio",
  "java.base/java.util",
  "java.base/java.util.concurrent",
  "java.base/java.util.concurrent.atomic",
  "java.base/jdk.internal.ref",
  "java.base/sun.nio.ch",
  "java.base/sun.nio.cs",
  "java.base/sun.security.action",
  "java.base/sun.util.calendar",
  "java.security.jgss/sun.security.krb5"
).map(module => s"--add-opens=$module=ALL-UNNAMED") ++ Seq(
  "-XX:+IgnoreUnrecognizedVMOptions",
  "--add-modules=jdk.incubator.vector",
  "-Djdk.reflect.useDirectMethodHandle=false",
  "-Dio.netty.tryReflectionSetAccessible=true"
)

ThisBuild / organization := "io.tamis"
ThisBuild / version := tamisVersion
ThisBuild / scalaVersion := sparkScalaVersion

lazy val root = project
  .in(file("."))
  .aggregate(shim)
  .settings(name := "tamis-build", publish / skip := true)

lazy val shim = project
  .in(file("jvm-shim"))
  .settings(
    name := "tamis",
    Compile / unmanagedJars ++= (sparkJars * "*.jar").classpath,
    scalacOptions ++= Seq(
      "-encoding",
      "utf-8",
      "-release",
      "17",
      "-deprecation",
      "-feature",
      "-unchecked",
      "-Xlint"
    ),
    javacOptions ++= Seq("-encoding", "utf-8", "--release", "17", "-Xlint:all,-processing"),

    Compile / sourceGenerators += Def.task {
      val source = (Compile / sourceManaged).value / "io" / "tamis" / "conf" / "ConfAccessors.scala"
      IO.write(source, ConfAccessors.source(IO.read(file("python/tamis/conf.json"))))
      Seq(source)
    },

    // The registries of confs and reasons are the files of Python; both sides read the same ones.
    Compile / resourceGenerators += Def.task {
      val target = (Compile / resourceManaged).value / "io" / "tamis"
      val registries = Seq("conf.json", "reasons.json").map { name =>
        IO.copyFile(file("python/tamis") / name, target / name)
        target / name
      }
      val properties = target / "version.properties"
      IO.write(properties, s"version=$tamisVersion\nwire=$wireVersion\n")
      properties +: registries
    },

    // A fixed name, and a copy inside of the Python package for `python -m tamis jar`.
    Compile / packageBin / artifactPath := target.value / "tamis.jar",
    Compile / packageBin := {
      val jar = (Compile / packageBin).value
      val packaged = file("python/tamis/jars/tamis.jar")
      // Renamed into place: a running Spark keeps the old file open and intact.
      val fresh = file("python/tamis/jars/tamis.jar.new")
      IO.copyFile(jar, fresh)
      IO.move(fresh, packaged)
      jar
    },

    libraryDependencies += "org.scalameta" %% "munit" % "1.2.4" % Test,
    Test / fork := true,
    Test / parallelExecution := false,
    Test / envVars ++= Map(
      "PYSPARK_PYTHON" -> file(python).getAbsolutePath,
      "PYTHONPATH" -> file("python").getAbsolutePath
    ),
    Test / javaOptions ++= moduleOptions ++ Seq(
      "-Xmx1g",
      // as in tests/class_archive.py: starting fast is worth more than the best code
      "-XX:TieredStopAtLevel=1",
      "-XX:ReservedCodeCacheSize=400m",
      "-XX:+UseSerialGC",
      "-XX:MetaspaceSize=512m",
      "-Xmn320m",
      "-Dspark.ui.enabled=false",
      "-Dspark.sql.shuffle.partitions=2",
      "-Dspark.driver.host=127.0.0.1",
      "-Dspark.driver.bindAddress=127.0.0.1",
      s"-Dspark.sql.warehouse.dir=${target.value / "warehouse"}",
      s"-Dderby.system.home=${target.value / "derby"}"
    )
  )

lazy val writeClasspath = taskKey[File]("Writes the classpath of Spark's own test suites to a file")

// Spark's own test suites with the extension: see tests/spark_suites/README.md. The root project does
// not aggregate it: only `make spark-suites` downloads the test jars.
lazy val sparkSuites = project
  .in(file("tests/spark_suites"))
  .settings(
    name := "tamis-spark-suites",
    publishMavenStyle := false, // "intransitive" is Ivy's
    publish / skip := true,
    target := (ThisBuild / baseDirectory).value / "build" / "spark_suites" / "target",
    Compile / unmanagedSourceDirectories := Seq(baseDirectory.value / "scala"),
    Compile / unmanagedResourceDirectories := Seq(baseDirectory.value / "resources"),
    Compile / unmanagedJars ++= (sparkJars * "*.jar").classpath,
    scalacOptions ++= Seq("-encoding", "utf-8", "-release", "17", "-deprecation", "-feature"),
    libraryDependencies ++= Seq("sql", "catalyst", "core", "sql-api", "common-utils", "tags").map {
      module =>
        ("org.apache.spark" %% s"spark-$module" % sparkVersion classifier "tests").intransitive()
    },
    libraryDependencies ++= Seq(
      "org.scalatest" %% "scalatest" % "3.2.19",
      "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0",
      "org.scalatestplus" %% "mockito-5-12" % "3.2.19.0",
      ("org.apache.parquet" % "parquet-avro" % "1.16.0").intransitive(),
      ("org.apache.parquet" % "parquet-variant" % "1.16.0").intransitive(), // for parquet-avro
      ("org.apache.parquet" % "parquet-column" % "1.16.0" classifier "tests").intransitive()
    ),
    // Classes first, then jars, one path per line, without the jars of pyspark.
    writeClasspath := {
      val compiled = (Compile / products).value
      val file = target.value.getParentFile / s"classpath-$sparkVersion.txt"
      val jars =
        (Compile / managedClasspath).value.files.filterNot(_.getName == "scala-library.jar")
      IO.writeLines(file, (compiled ++ jars).map(_.getAbsolutePath))
      file
    }
  )
