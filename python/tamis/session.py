"""Putting tamis into a Spark session, and using the session's SQL front end."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING

from tamis import jar
from tamis.errors import TamisError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from tamis.expr import Expr

__all__ = ["EXTENSION", "configure", "parse"]

EXTENSION = "io.tamis.TamisExtensions"
_SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"


def configure(
    builder: SparkSession.Builder, *, python: str | os.PathLike[str] | None = None
) -> SparkSession.Builder:
    """Put tamis into the session that the builder makes; the builder is returned.

    Adds the jar to `spark.jars` and the extension to `spark.sql.extensions`; what is there already
    stays. Nothing is downloaded. Call it before the first session of the process is made: the jar
    is given to the JVM when that starts.

    Args:
        builder: `SparkSession.builder`, with or without confs of its own.
        python: the Python that plans; this one if not given.

    Raises:
        TamisError: this installation has no jar, or a session without tamis runs already.

    Example:
        spark = tamis.configure(SparkSession.builder).getOrCreate()
    """
    extension_jar = str(jar.path())
    _require_no_other_session()
    options: dict[str, object] = builder._options  # type: ignore[attr-defined]
    submitted = _Submitted.read()
    jars = submitted.jars or _text(options, "spark.jars") or submitted.conf("spark.jars")
    extensions = _text(options, "spark.sql.extensions") or submitted.conf("spark.sql.extensions")
    if submitted.jars:
        # --jars wins over spark.jars when the JVM starts: the jar has to be there as well.
        submitted.append_jar(extension_jar)
    builder.config("spark.jars", _appended(jars, extension_jar))
    builder.config("spark.sql.extensions", _appended(extensions, EXTENSION))
    if python is not None or _text(options, "spark.tamis.python") is None:
        builder.config("spark.tamis.python", str(python or sys.executable))
    return builder


def parse(spark: SparkSession, sql: str, schema: str | StructType) -> Expr:
    """Analyse and simplify a predicate over a schema with Spark's own front end.

    Args:
        spark: a session of classic PySpark with tamis (see `configure`).
        sql: a boolean SQL expression, such as `"d >= DATE '1995-01-01' AND s.x IS NULL"`.
        schema: a DDL string (`"d DATE, s STRUCT<x: INT>"`) or a StructType.

    Raises:
        TamisError: the session has no JVM in reach (Spark Connect) or no tamis.
        pyspark.errors.ParseException, AnalysisException: as Spark raises them.

    Example:
        tamis.parse(spark, "x > 5 OR x IS NULL", "x INT")
    """
    from pyspark.sql.types import StructType

    from tamis.wire.catalyst import decode

    tamis = _shim(spark)
    if isinstance(schema, StructType):
        document = schema.json()
    else:
        document = spark._jvm.org.apache.spark.sql.types.StructType.fromDDL(schema).json()  # type: ignore[union-attr]
    return decode(json.loads(tamis.parse(spark._jsparkSession, sql, document)))  # type: ignore[attr-defined]


def _shim(spark: SparkSession) -> object:
    """The object io.tamis.Tamis of the driver. TamisError where there is none."""
    from py4j.java_gateway import JavaClass

    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        raise TamisError("this is a Spark Connect session: it has no JVM in reach. Use a classic session.")
    shim = jvm.io.tamis.Tamis
    if not isinstance(shim, JavaClass):  # a name that no class has is a JavaPackage
        raise TamisError(
            "this session runs without tamis: make it with tamis.configure(SparkSession.builder), "
            "in a process that has no session yet"
        )
    return shim


def _require_no_other_session() -> None:
    from pyspark import SparkContext

    running = SparkContext._active_spark_context
    if running is not None and EXTENSION not in (running.getConf().get("spark.sql.extensions") or ""):
        raise TamisError(
            "a Spark session without tamis runs in this process already, and getOrCreate would return it: "
            "stop it first (spark.stop()), or call tamis.configure before it is made"
        )


def _text(options: dict[str, object], key: str) -> str | None:
    value = options.get(key)
    return None if value is None else str(value)


def _appended(existing: str | None, item: str) -> str:
    items = [part.strip() for part in (existing or "").split(",") if part.strip()]
    return ",".join(items if item in items else [*items, item])


class _Submitted:
    """PYSPARK_SUBMIT_ARGS: what `pyspark` and notebooks hand to spark-submit."""

    def __init__(self, words: list[str]) -> None:
        self._words = words

    @classmethod
    def read(cls) -> _Submitted:
        return cls(shlex.split(os.environ.get(_SUBMIT_ARGS, "")))

    @property
    def jars(self) -> str | None:
        """The value of --jars."""
        at = self._jars_at()
        return None if at is None else self._words[at].removeprefix("--jars=")

    def conf(self, key: str) -> str | None:
        """The value of the last --conf key=value."""
        found = None
        for option, value in zip(self._words, self._words[1:], strict=False):
            if option in ("--conf", "-c") and value.startswith(f"{key}="):
                found = value.removeprefix(f"{key}=")
        for word in self._words:
            if word.startswith(f"--conf={key}="):
                found = word.removeprefix(f"--conf={key}=")
        return found

    def append_jar(self, path: str) -> None:
        at = self._jars_at()
        assert at is not None
        prefix = "--jars=" if self._words[at].startswith("--jars=") else ""
        self._words[at] = prefix + _appended(self.jars, path)
        os.environ[_SUBMIT_ARGS] = shlex.join(self._words)

    def _jars_at(self) -> int | None:
        for at, word in enumerate(self._words):
            if word.startswith("--jars="):
                return at
            if word == "--jars" and at + 1 < len(self._words):
                return at + 1
        return None
