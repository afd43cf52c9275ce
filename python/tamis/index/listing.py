"""What Spark says of a table: its files, roots and schema, through the shim."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from tamis.errors import StatisticsIndexError
from tamis.index.causes import causes
from tamis.index.reading import Reading, reading_of
from tamis.index.snapshot import Snapshot, open_snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.readwriter import DataFrameReader

_HADOOP = "spark.hadoop."
_NO_SHIM = (
    "this session does not have the tamis extension, or is one of Spark Connect: make it with "
    "tamis.configure(SparkSession.builder).getOrCreate()"
)


# Of the errors that Spark raises where it finds files of another format, or none.
_NOT_PARQUET: Final = ("UNABLE_TO_INFER_SCHEMA", "CANNOT_READ_FILE_FOOTER", "is not a Parquet file")
_READER: Final = (
    ": files of ORC, CSV or JSON need a reader: tamis.index(spark, path, "
    'reader=spark.read.format("csv").schema("id LONG, day DATE"))'
)
_READER_IN_SHELL: Final = (
    ": files of ORC, CSV or JSON need options that say how they are read: --format csv --schema "
    '"id LONG, day DATE"'
)


@dataclass(frozen=True, eq=False)
class TableListing:
    """A table as Spark lists it now. `schema` and `partition_schema`: Spark's JSON.

    reading: how files are read that are not Parquet.  loaded: what reads them.  malformed: the
    column of it that shows malformed records, of text.  overlapping: a partition column is also a
    column of the files.
    """

    root: str
    snapshot: Snapshot
    schema: str
    partition_schema: str
    case_sensitive: bool
    reading: Reading | None = None
    loaded: DataFrame | None = None
    malformed: str | None = None
    overlapping: bool = False


def list_table(
    spark: SparkSession, path_or_table: str, reader: DataFrameReader | None = None
) -> TableListing:
    """Lists a directory of files, or a table over one. Without a reader, a directory is Parquet.

    Raises StatisticsIndexError where there is nothing to index, or no shim.
    """
    loaded = None if reader is None else _loaded(spark, path_or_table, reader)
    with tempfile.TemporaryDirectory(prefix="tamis-listing-") as directory:
        document = export_listing(spark, path_or_table, directory, loaded)
        if "reading" in document and loaded is None:
            # once more of what is read later: another may alter the table in between
            loaded = spark.table(path_or_table)
            document = export_listing(spark, path_or_table, directory, loaded)
        roots = document["roots"]
        if len(roots) != 1:
            raise StatisticsIndexError(
                f"{path_or_table} has {len(roots)} root directories and an index describes one: "
                "build an index for each of them"
            )
        # stays readable when the directory is gone: it is mapped
        snapshot = open_snapshot(directory, document["fingerprint"])
    require_directory(path_or_table, roots[0].rstrip("/"), snapshot)
    return TableListing(
        roots[0].rstrip("/"),
        snapshot,
        _text(document["schema"]),
        _text(document["partition_schema"]),
        bool(document["case_sensitive"]),
        reading_of(document["reading"]) if "reading" in document else None,
        loaded,
        document.get("malformed_record"),
        bool(document.get("overlapping", False)),
    )


def require_directory(target: str, root: str, snapshot: Snapshot) -> None:
    """Refuses a single file, whose index would lie below it.

    Raises:
        StatisticsIndexError: the root is a file.
    """
    directories = snapshot.files.directories
    if directories and not any(d == root or d.startswith(f"{root}/") for d in directories):
        directory = unquote(directories[0])
        raise StatisticsIndexError(
            f"{target} is a file, and an index describes the files of a directory: give "
            f"{directory}. Queries over the file use that index"
        )


def export_listing(
    spark: SparkSession, path_or_table: str, directory: str, loaded: DataFrame | None = None
) -> dict[str, Any]:
    """Has the JVM write a snapshot into a directory; answers with its fingerprint and schema.

    loaded: what a reader made of the path.
    """
    shim = shim_of(spark)
    if shim is None:
        raise StatisticsIndexError(_NO_SHIM)
    try:
        with _unlogged():
            answer = (
                shim.exportListing(_java_session(spark), path_or_table, directory)
                if loaded is None
                else shim.exportListing(loaded._jdf, path_or_table, directory)
            )
    except Exception as problem:  # PySpark's own, or py4j's
        raise not_listed(path_or_table, problem, reads_parquet=loaded is None) from None
    document: dict[str, Any] = json.loads(answer)
    return document


def not_listed(target: str, problem: Exception, reads_parquet: bool) -> StatisticsIndexError:
    """The error for a table that Spark cannot list, with its cause.

    Args:
        reads_parquet: no reader was given, so that a path is read as Parquet.
    """
    text = f"{target} cannot be listed ({causes(problem)})"
    if reads_parquet and any(mark in str(problem) for mark in _NOT_PARQUET):
        return StatisticsIndexError(text + _READER, shell=text + _READER_IN_SHELL)
    return StatisticsIndexError(text)


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keeps Spark's errors out of its log while they become ours."""
    from tamis.index.build import unlogged_errors

    with unlogged_errors():
        yield


def _loaded(spark: SparkSession, path: str, reader: DataFrameReader) -> DataFrame:
    if shim_of(spark) is None:
        raise StatisticsIndexError(_NO_SHIM)
    session = getattr(reader, "_spark", None)
    if session is None or not session._jsparkSession.equals(_java_session(spark)):
        raise StatisticsIndexError(
            "the reader is of another session, which may read the files in another way: give "
            "reader=spark.read… of the session that is given"
        )
    try:
        with _unlogged():
            return reader.load(path)
    except Exception as problem:  # PySpark's own, or py4j's
        text = f"{path} cannot be read ({causes(problem)})"
        if "UNABLE_TO_INFER_SCHEMA" not in str(problem):
            raise StatisticsIndexError(text) from None
        raise StatisticsIndexError(
            f'{text}: give the reader a schema, spark.read.format("csv").schema("id LONG")',
            shell=f'{text}: give its columns, --schema "id LONG"',
        ) from None


def parse_value(spark: SparkSession, sql: str, schema: str) -> dict[str, Any]:
    """Analyses a value over a schema (Spark's JSON): its document, type, and refusal if any.

    Raises StatisticsIndexError where Spark does not understand it.
    """
    shim = shim_of(spark)
    if shim is None:
        raise StatisticsIndexError(_NO_SHIM)
    try:
        with _unlogged():
            answer = shim.parseValue(_java_session(spark), sql, schema)
    except Exception as problem:  # PySpark's own, or py4j's
        raise StatisticsIndexError(
            f"expressions: {sql} is not understood ({causes(problem)}): write it as in a SELECT"
        ) from None
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
