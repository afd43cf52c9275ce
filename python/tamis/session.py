"""Adding tamis to a Spark session, and using the SQL front end of the session."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tamis import jar
from tamis.errors import WITHOUT_TAMIS, TamisError
from tamis.jar import shim_in
from tamis.launch import INSTALL_SPARK, SubmitArguments, appended, defaults, is_supported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from tamis.expr import Expr

__all__ = ["EXTENSION", "configure", "parse", "shim"]

EXTENSION = "io.tamis.TamisExtensions"


def configure(
    builder: SparkSession.Builder, *, python: str | os.PathLike[str] | None = None
) -> SparkSession.Builder:
    """Add tamis to the session that the builder creates.

    Adds the jar to `spark.jars` and the extension to `spark.sql.extensions`. Existing entries stay,
    whether they come from the builder, PYSPARK_SUBMIT_ARGS, spark-submit or spark-defaults.conf.
    Nothing is downloaded. A builder for a remote server (`sc://`) stays unchanged: there, tamis has
    to be installed on the server.

    Args:
        builder: `SparkSession.builder`, with or without confs of its own. Call `.remote(…)` and
            set `spark.jars` before this call, not after it.
        python: The Python executable that runs the planner. Default: `spark.tamis.python` of the
            builder, or else the current Python. A value in spark-submit or spark-defaults.conf is
            overridden.

    Returns:
        The builder.

    Raises:
        TamisError: This installation has no jar, tamis does not support its version of pyspark, or
            a session without tamis is already running.

    Example:
        spark = tamis.configure(SparkSession.builder).getOrCreate()
    """
    options: dict[str, object] = builder._options
    if _is_remote(options):
        return builder
    _require_supported_spark()
    extension_jar = str(jar.path())
    _require_no_other_session()
    if _jvm_runs():
        _load_into_running_jvm(extension_jar)
        existing: Callable[[str], str | None] = _running_conf
    else:
        existing = _give_at_launch(options, extension_jar)
    extensions = _text(options, "spark.sql.extensions") or existing("spark.sql.extensions")
    builder.config("spark.sql.extensions", appended(extensions, EXTENSION))
    if python is not None or _text(options, "spark.tamis.python") is None:
        builder.config("spark.tamis.python", str(python or sys.executable))
    return builder


def _require_supported_spark() -> None:
    import pyspark

    if not is_supported(pyspark.__version__):
        raise TamisError(
            f"pyspark {pyspark.__version__} is installed ({os.path.dirname(pyspark.__file__)}), "
            f"but tamis works with Spark 4.0 to 4.3: {INSTALL_SPARK}"
        )


def _is_remote(options: dict[str, object]) -> bool:
    """Return whether the builder connects to a remote server. `local[2]` starts Spark here."""
    from pyspark.util import is_remote_only

    remote = _text(options, "spark.remote") or os.environ.get("SPARK_REMOTE", "")
    return remote.startswith("sc://") or is_remote_only()


def _give_at_launch(options: dict[str, object], extension_jar: str) -> Callable[[str], str | None]:
    """Make the JVM start with the jar.

    Returns:
        A function that gives the value of a conf that the builder does not set.
    """
    from pyspark.find_spark_home import _find_spark_home

    arguments = SubmitArguments.of(os.environ)
    file = defaults(arguments, os.environ, _find_spark_home())  # type: ignore[no-untyped-call]

    def existing(key: str) -> str | None:
        return arguments.conf(key) or file.get(key)

    own = _text(options, "spark.jars")
    submitted = arguments.conf("spark.jars")
    if own or submitted:
        jars = appended(submitted, *(own or "").split(","), extension_jar)
    else:
        jars = appended(file.get("spark.jars"), extension_jar)
    packages = _text(options, "spark.jars.packages") or existing("spark.jars.packages")
    # If the arguments set spark.jars too, the builder's value does not reach the JVM. It would also
    # hide the jars that spark-submit fetches for spark.jars.packages from the executors.
    if submitted or packages:
        arguments.with_jars(jars).put(os.environ)
    if own or not packages:
        options["spark.jars"] = jars
    return existing


def _jvm_runs() -> bool:
    """Return whether this process has a JVM, or was started by one (spark-submit, `pyspark`)."""
    from pyspark import SparkContext

    return SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ


def _running_conf(key: str) -> str | None:
    """Return the value that spark-submit gave this conf when the JVM started."""
    from pyspark import SparkContext

    value: str = SparkContext._jvm.org.apache.spark.SparkConf().get(key, "")  # type: ignore[union-attr]
    return value or None


def _load_into_running_jvm(extension_jar: str) -> None:
    """Load the classes of the jar into the driver. Executors do not need them."""
    from pyspark import SparkContext

    SparkContext._ensure_initialized()
    jvm = SparkContext._jvm
    assert jvm is not None
    if shim_in(jvm) is not None:
        return
    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        loader.addURL(jvm.java.io.File(extension_jar).toURI().toURL())
    except Exception as refused:
        raise TamisError(
            "the JVM of this process was started without tamis and accepts no more jars "
            f"({type(refused).__name__}): call tamis.configure in a new process, or start this "
            'one with --jars "$(python -m tamis jar)"'
        ) from refused


def parse(spark: SparkSession, sql: str, schema: str | StructType) -> Expr:
    """Analyze and simplify a predicate over a schema with Spark's own front end.

    Args:
        spark: A session of classic PySpark with tamis (see `configure`).
        sql: A boolean SQL expression, such as `"d >= DATE '1995-01-01' AND s.x IS NULL"`.
        schema: A DDL string (`"d DATE, s STRUCT<x: INT>"`) or a StructType.

    Raises:
        TamisError: The session has no accessible JVM (Spark Connect), or runs without tamis.
        pyspark.errors.ParseException, AnalysisException: As raised by Spark.

    Example:
        tamis.parse(spark, "x > 5 OR x IS NULL", "x INT")
    """
    from pyspark.sql.types import StructType

    from tamis.wire.catalyst import decode

    tamis = shim(spark)
    if isinstance(schema, StructType):
        document = schema.json()
    else:
        document = spark._jvm.org.apache.spark.sql.types.StructType.fromDDL(schema).json()  # type: ignore[union-attr]
    return decode(json.loads(tamis.parse(spark._jsparkSession, sql, document)))


def shim(spark: SparkSession) -> Any:
    """Return the object io.tamis.Tamis of the driver.

    Raises:
        TamisError: The session has no accessible JVM (Spark Connect), or runs without tamis.
    """
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        raise TamisError(
            "this is a Spark Connect session, which has no accessible JVM. Use a classic session."
        )
    found = shim_in(jvm)
    if found is None:
        raise TamisError(WITHOUT_TAMIS)
    return found


def _require_no_other_session() -> None:
    from pyspark import SparkContext

    running = SparkContext._active_spark_context
    if running is None:
        return
    if EXTENSION not in (running.getConf().get("spark.sql.extensions") or ""):
        raise TamisError(
            "a Spark session without tamis is already running in this process, and getOrCreate "
            "would return it: stop it first (spark.stop()), or call tamis.configure before it is "
            "created"
        )


def _text(options: dict[str, object], key: str) -> str | None:
    value = options.get(key)
    return None if value is None else str(value)
