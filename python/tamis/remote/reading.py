"""The functions that read remote tables with a session.

Spark is imported when a function is called: other parts of the package need only pyarrow.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource

__all__ = ["read_airport", "read_vgi"]


def read_airport(
    spark: SparkSession,
    uri: str,
    schema: str,
    table: str,
    *,
    catalog: str = "",
    token: str | None = None,
    tls_roots: str | None = None,
    at: tuple[str, str] | None = None,
) -> DataFrame:
    """Return a table of an Airport server, which executors read in parallel.

    The same as `spark.read.format("tamis.airport")` with the options `uri`, `schema`, `table`,
    `catalog`, `token`, `tlsRoots`, `atUnit` and `atValue`.

    Args:
        spark: A session.
        uri: The location of the server, such as `grpc+tls://host:8815` or `grpc://host:8815`.
        schema: The schema of the table.
        table: The name of the table.
        catalog: The name of the catalog on the server.
        token: A bearer token. It is sent to the host of `uri` only, and appears in no plan, log or
            error.
        tls_roots: The path of a PEM file on the driver, with the root certificates to trust instead
            of those of the system.
        at: The version to read, as unit and value: `("VERSION", "3")` or
            `("TIMESTAMP", "2026-01-31 12:00:00")`.

    Raises:
        RemoteError: The table cannot be found, or Spark has no type for one of its columns. The
            message names the server, the table and the step. With Spark Connect it is a
            pyspark.errors.AnalysisException. If the server fails while a query runs, the query
            ends with a PythonException or a SparkException.

    Example:
        tamis.read_airport(spark, "grpc://localhost:8815", "main", "orders").count()
    """
    from tamis.remote.datasource import AirportDataSource

    options = {"uri": uri, "schema": schema, "table": table, "catalog": catalog}
    if token is not None:
        options["token"] = token
    if tls_roots is not None:
        options["tlsRoots"] = tls_roots
    if at is not None:
        options["atUnit"], options["atValue"] = at
    return _loaded(spark, AirportDataSource, options)


def read_vgi(
    spark: SparkSession,
    uri: str,
    function: str = "",
    arguments: Sequence[Any] | Mapping[str, Any] = (),
    *,
    table: str = "",
    catalog: str = "",
    schema: str = "",
    token: str | None = None,
    filters: str = "exact",
) -> DataFrame:
    """Return the rows of a table function or of a table of a VGI worker.

    The same as `spark.read.format("tamis.vgi")` with the options `uri`, `function`, `arguments`,
    `table`, `catalog`, `schema`, `token` and `filters`.

    Args:
        spark: A session.
        uri: The URL of a worker, such as `https://host/prefix`, or the command of one, such as
            `python worker.py`. A command is run without a shell, on the driver to plan a query, and
            on executors to read the rows.
        function: The name of the table function.
        arguments: Its arguments: a list of positional ones, a dict of named ones, or a dict with
            the keys `positional` and `named`.
        table: The name of a table, instead of `function`.
        catalog: The name of the catalog, if the worker has several.
        schema: The path of the schema, with dots; by default the default schema of the catalog.
        token: A bearer token, for URLs only. It appears in no plan, log or error.
        filters: `exact`: the worker gets filters, and Spark does not reapply the ones that the
            worker promises to apply exactly. `advisory`: the worker gets filters, and Spark applies
            all of them again. `off`: the worker gets no filters.

    Raises:
        RemoteError: The function or table cannot be found, refuses its arguments, or Spark has no
            type for one of its columns. The message names the worker, the function and the step.
            With Spark Connect it is a pyspark.errors.AnalysisException.

    Example:
        tamis.read_vgi(spark, "python worker.py", "sequence", [100]).count()
    """
    from tamis.remote.datasource import VgiDataSource
    from tamis.remote.vgi.functions.arguments import json_arguments

    options = {"uri": uri, "catalog": catalog, "schema": schema, "filters": filters}
    if table:
        options["table"] = table
    if function:
        options["function"] = function
    if arguments:
        options["arguments"] = json_arguments(arguments)
    if token is not None:
        options["token"] = token
    return _loaded(spark, VgiDataSource, options)


def _loaded(spark: SparkSession, source: type[DataSource], options: dict[str, str]) -> DataFrame:
    """Register a data source and read with it.

    Raises:
        RemoteError: The table cannot be found, or Spark has no type for one of its columns.
    """
    _register(spark, source)
    reader = spark.read.format(source.name()).options(**options)
    # Spark would start a process to find the columns. With Spark Connect it must, because the
    # server may not be reachable from here.
    if getattr(spark, "_sc", None) is not None:
        from tamis.remote.planning import spark_schema

        reader = reader.schema(spark_schema(source.name(), options))
    return reader.load()


def _register(spark: SparkSession, source: type[DataSource]) -> None:
    """Register a data source.

    Spark runs it in PYSPARK_PYTHON, or else in `python3`, which need not be the Python of this
    process. In local mode this one serves, so that tamis is found.
    """
    context = getattr(spark, "_sc", None)  # a session of Spark Connect has none
    if context is None or not context.master.startswith("local") or "PYSPARK_PYTHON" in os.environ:
        spark.dataSource.register(source)
        return
    configured = context.pythonExec
    context.pythonExec = sys.executable
    try:
        spark.dataSource.register(source)
    finally:
        context.pythonExec = configured
