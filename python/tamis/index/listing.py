"""What Spark says of a table: its files, roots and schema, through the shim."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamis.errors import StatisticsIndexError
from tamis.index.snapshot import Snapshot, open_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HADOOP = "spark.hadoop."
_NO_SHIM = (
    "this session does not have the tamis extension, or is one of Spark Connect: make it with "
    "tamis.configure(SparkSession.builder).getOrCreate()"
)


@dataclass(frozen=True, eq=False)
class TableListing:
    """A table as Spark lists it now. `schema` and `partition_schema`: Spark's JSON."""

    root: str
    snapshot: Snapshot
    schema: str
    partition_schema: str
    case_sensitive: bool


def list_table(spark: SparkSession, path_or_table: str) -> TableListing:
    """Lists a directory of Parquet files, or a table over one.

    Raises StatisticsIndexError where there is nothing to index, or no shim.
    """
    with tempfile.TemporaryDirectory(prefix="tamis-listing-") as directory:
        document = export_listing(spark, path_or_table, directory)
        roots = document["roots"]
        if len(roots) != 1:
            raise StatisticsIndexError(
                f"{path_or_table} has {len(roots)} root directories and an index describes one: "
                "build an index for each of them"
            )
        # stays readable when the directory is gone: it is mapped
        snapshot = open_snapshot(directory, document["fingerprint"])
    return TableListing(
        roots[0].rstrip("/"),
        snapshot,
        _text(document["schema"]),
        _text(document["partition_schema"]),
        bool(document["case_sensitive"]),
    )


def export_listing(spark: SparkSession, path_or_table: str, directory: str) -> dict[str, Any]:
    """Has the JVM write a snapshot into a directory; answers with its fingerprint and schema."""
    shim = shim_of(spark)
    if shim is None:
        raise StatisticsIndexError(_NO_SHIM)
    try:
        answer = shim.exportListing(_java_session(spark), path_or_table, directory)
    except Exception as problem:  # PySpark's own, or py4j's
        first_line = str(problem).strip().partition("\n")[0]
        raise StatisticsIndexError(f"{path_or_table} cannot be listed: {first_line}") from problem
    document: dict[str, Any] = json.loads(answer)
    return document


def parse_value(spark: SparkSession, sql: str, schema: str) -> dict[str, Any]:
    """Analyses a value over a schema (Spark's JSON): its document, type, and refusal if any.

    Raises StatisticsIndexError where Spark does not understand it.
    """
    shim = shim_of(spark)
    if shim is None:
        raise StatisticsIndexError(_NO_SHIM)
    try:
        answer = shim.parseValue(_java_session(spark), sql, schema)
    except Exception as problem:  # PySpark's own, or py4j's
        lines = [line for line in str(problem).splitlines() if line.strip()]
        first = lines[0].strip() if lines else type(problem).__name__
        raise StatisticsIndexError(
            f"expressions: {sql} is not understood ({first}): write it as in a SELECT"
        ) from problem
    document: dict[str, Any] = json.loads(answer)
    return document


def invalidate(spark: SparkSession, root: str) -> None:
    """Tells the session that the index of a root has changed. Without the shim nobody asks."""
    shim = shim_of(spark)
    if shim is not None:
        shim.invalidate(root)


def shim_of(spark: SparkSession) -> Any | None:
    """The JVM object `io.tamis.Tamis`, or None: the jar is not in this session."""
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:  # Spark Connect
        return None
    from py4j.java_gateway import JavaClass

    # what py4j does not find it takes for a package
    found = jvm.io.tamis.Tamis
    return found if isinstance(found, JavaClass) else None


def storage_settings(spark: SparkSession) -> dict[str, str]:
    """The Hadoop settings `fs.*` of a session, of its context first."""
    settings = {}
    for key, value in [*spark.sparkContext.getConf().getAll(), *spark.conf.getAll.items()]:
        bare = key.removeprefix(_HADOOP)
        if bare.startswith("fs."):
            settings[bare] = value
    return settings


def index_location(spark: SparkSession) -> str | None:
    """The conf spark.tamis.index.location."""
    return spark.conf.get("spark.tamis.index.location", None) or None


def _java_session(spark: SparkSession) -> Any:
    return spark._jsparkSession


def _text(document: Any) -> str:
    return document if isinstance(document, str) else json.dumps(document)
