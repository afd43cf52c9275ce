"""A JVM that runs suites of Spark's test jars with ScalaTest, with or without tamis."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.spark_suites.sidecar import SCRATCH

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "spark_suites"
JAR = ROOT / "python" / "tamis" / "jars" / "tamis.jar"
# Their classes and resources are unpacked: suites read resources by path.
_UNPACKED = ("spark-sql_2.13", "spark-catalyst_2.13", "spark-core_2.13")

# Packages that Spark opens on JDK 17 and newer (org.apache.spark.launcher.JavaModuleOptions).
_OPENED = (
    *(
        f"java.base/{package}"
        for package in (
            "java.lang",
            "java.lang.invoke",
            "java.lang.reflect",
            "java.io",
            "java.net",
            "java.nio",
            "java.util",
            "java.util.concurrent",
            "java.util.concurrent.atomic",
            "jdk.internal.ref",
            "sun.nio.ch",
            "sun.nio.cs",
            "sun.security.action",
            "sun.util.calendar",
        )
    ),
    "java.security.jgss/sun.security.krb5",
)
_JVM = (
    "-Xmx3g",
    "-Xss4m",
    "-XX:MaxMetaspaceSize=1300m",
    "-XX:ReservedCodeCacheSize=256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # most code runs once or twice
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-ea",
)
# The settings of Spark's own build for its tests; spark.testing enables the plan checks.
_TESTING = {
    "spark.testing": "1",
    "spark.port.maxRetries": "100",
    "spark.master.rest.enabled": "false",
    "spark.memory.debugFill": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.unsafe.exceptionOnMemoryLeak": "true",
    "spark.hadoop.hadoop.security.key.provider.path": "test:///",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "sun.io.serialization.extendedDebugInfo": "false",
    "derby.system.durability": "test",
}
# On a loaded machine, a slow answer must not count as a sidecar failure.
_TAMIS = {
    "spark.sql.extensions": "io.tamis.TamisExtensions",
    "spark.tamis.timeout": "60s",
    "spark.tamis.startTimeout": "120s",
    "spark.tamis.history.enabled": "false",
    # suites compare plans, and a plan that learns has one node more
    "spark.tamis.remember.enabled": "false",
}

_WARNING = " WARN io.tamis"


@dataclass(frozen=True)
class Spark:
    """The Spark of the environment, and its test classes.

    Attributes:
        jars: The directory of pyspark's jars.
        version: The version of Spark.
        classpath: The compiled suites of this folder, and the jars that sbt resolved.
    """

    jars: Path
    version: str
    classpath: tuple[Path, ...]

    @staticmethod
    def of_environment() -> Spark:
        """Return the pyspark of this Python. `./sbt sparkSuites/writeClasspath` must have run."""
        import pyspark

        version = pyspark.__version__
        written = BUILD / f"classpath-{version}.txt"
        if not written.is_file():
            raise FileNotFoundError(f"{written}: run ./sbt sparkSuites/writeClasspath")
        paths = tuple(Path(line) for line in written.read_text("utf-8").splitlines())
        return Spark(Path(pyspark.__file__).parent / "jars", version, paths)

    @property
    def directory(self) -> Path:
        """The directory of all files of this version."""
        return BUILD / self.version

    @cached_property
    def unpacked(self) -> tuple[Path, ...]:
        """The test classes and resources of Spark, as directories."""
        return tuple(self._unpacked(jar) for jar in self._test_jars())

    def _test_jars(self) -> Iterator[Path]:
        for name in _UNPACKED:
            yield next(each for each in self.classpath if each.name.startswith(f"{name}-"))

    def _unpacked(self, jar: Path) -> Path:
        directory = self.directory / "classes" / jar.stem
        if not directory.is_dir():
            draft = directory.with_suffix(".draft")
            shutil.rmtree(draft, ignore_errors=True)
            with zipfile.ZipFile(jar) as archive:
                archive.extractall(draft)
            draft.rename(directory)
        return directory

    @cached_property
    def home(self) -> Path:
        """The Spark home for suites, which contains `sql/core/src/test/resources`."""
        home = self.directory / "home"
        resources = home / "sql" / "core" / "src" / "test" / "resources"
        if not resources.is_symlink():
            resources.parent.mkdir(parents=True, exist_ok=True)
            resources.symlink_to(self.unpacked[0])
        return home

    def class_of(self, suite: str) -> str:
        """Return the full name of a suite.

        Raises:
            ValueError: No suite, or more than one, has this name.
        """
        if "." in suite:
            return suite
        classes = sorted(
            ".".join(file.relative_to(directory).with_suffix("").parts)
            for directory in (self.classpath[0], *self.unpacked)
            for file in directory.rglob(f"{suite}.class")
        )
        if len(classes) != 1:
            raise ValueError(
                f"{suite}: {' and '.join(classes) or 'no such suite'} in {self.version}"
            )
        return classes[0]

    def java_classpath(self) -> str:
        """The classpath without tamis, test classes first."""
        unpacked = set(self._test_jars())
        rest = [each for each in self.classpath[1:] if each not in unpacked]
        parts = [self.classpath[0], *self.unpacked, self.jars / "*", *rest]
        return os.pathsep.join(str(each) for each in parts)


@dataclass(frozen=True)
class Run:
    """Suites in one JVM.

    Attributes:
        spark: The Spark under test.
        suites: The tests to run by full suite name; empty for all tests of a suite.
        with_tamis: Whether the extension is loaded.
        directory: Contains reports, log and scratch files; it is emptied first.
    """

    spark: Spark
    suites: Mapping[str, Sequence[str]]
    with_tamis: bool
    directory: Path

    @property
    def scratch(self) -> Path:
        return self.directory / "scratch"

    @property
    def log(self) -> Path:
        return self.directory / "spark.log"

    @property
    def indexes(self) -> Path:
        """The directory of the sidecar's indexes, one directory per index."""
        return self.directory / "indexes"

    def report_of(self, suite: str) -> Path:
        """Return the JUnit file that ScalaTest writes at the end of a suite."""
        return self.directory / f"TEST-{suite}.xml"

    def start(self, timeout: float) -> int | None:
        """Run the suites.

        Args:
            timeout: Seconds after which the JVM is killed.

        Returns:
            The exit code of ScalaTest; None after a timeout.
        """
        shutil.rmtree(self.directory, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.indexes.mkdir()
        with open(self.directory / "output.txt", "wb") as output:
            process = subprocess.Popen(
                self._command(),
                cwd=self.scratch,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                return process.wait(timeout)
            except subprocess.TimeoutExpired:
                return None
            finally:
                process.kill()  # no effect after its exit; the sidecars end with it
                process.wait()
                shutil.rmtree(self.scratch, ignore_errors=True)

    def _environment(self) -> dict[str, str]:
        environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("SPARK_", "PYSPARK_"))
        }
        return environment | {
            "SPARK_TESTING": "1",
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "TZ": "UTC",
            "PYTHONPATH": str(ROOT),
            SCRATCH: str(self.indexes),
        }

    def _command(self) -> list[str]:
        classpath = self.spark.java_classpath()
        properties = {
            **_TESTING,
            "spark.test.home": str(self.spark.home),
            "java.io.tmpdir": str(self.scratch),
            "spark.suites.log": str(self.log),
            "log4j2.configurationFile": "classpath:spark-suites-log4j2.properties",
        }
        if self.with_tamis:
            classpath = os.pathsep.join([classpath, str(JAR)])
            properties |= _TAMIS | {
                "spark.tamis.python": str(self._sidecar()),
                "spark.tamis.cache.location": str(self.directory / "cache"),
            }
        java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
        command = [str(java), *_JVM, *(f"--add-opens={each}=ALL-UNNAMED" for each in _OPENED)]
        command += [f"-D{key}={value}" for key, value in properties.items()]
        command += [
            "-cp",
            classpath,
            "org.scalatest.tools.Runner",
            "-oWD",
            "-u",
            str(self.directory),
        ]
        for suite, tests in self.suites.items():
            command += ["-s", suite]
            command += [
                part for test in tests for part in ("-t", test)
            ]  # tests of the preceding suite
        return command

    def _sidecar(self) -> Path:
        """Write a script that takes Python's arguments and starts the sidecar of these runs."""
        script = self.directory / "sidecar"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m tests.spark_suites.sidecar\n')
        script.chmod(0o755)
        return script


def warnings_of_tamis(log: Path) -> list[str]:
    """Return the distinct warnings of tamis in a run."""
    if not log.is_file():
        return []
    with open(log, encoding="utf-8", errors="replace") as lines:
        return sorted({line.partition(": ")[2].strip() for line in lines if _WARNING in line})
