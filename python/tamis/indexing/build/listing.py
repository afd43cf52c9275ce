"""The files, roots and schema of a table as Spark sees them, through the shim."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import msgspec
import numpy as np
import numpy.typing as npt

from tamis.conf import entry
from tamis.errors import WITHOUT_TAMIS, StatisticsIndexError, some_of
from tamis.indexing.build.spark_errors import causes, unlogged_errors
from tamis.indexing.read.field_ids import iceberg_reading
from tamis.indexing.read.mapped_columns import delta_reading
from tamis.indexing.read.reader_options import Reading, reading_of
from tamis.indexing.read.snapshot import FileKeys, Snapshot, open_snapshot
from tamis.jar import shim_in
from tamis.wire.iceberg import IcebergSnapshot, unknown_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.readwriter import DataFrameReader


# Texts in the errors that Spark raises if it finds files of another format, or none.
_NOT_PARQUET: Final = ("UNABLE_TO_INFER_SCHEMA", "CANNOT_READ_FILE_FOOTER", "is not a Parquet file")
# Texts in the errors of the shim that need no further advice.
_SAYS_WHAT_TO_DO: Final = ("no statistics index can be built", "Pass the path of the directory")
#: The number of root directories that an error names.
_SHOWN: Final = 3
_READER: Final = (
    ": ORC, CSV and JSON files need a reader: tamis.index(spark, path, "
    'reader=spark.read.format("csv").schema("id LONG, day DATE"))'
)
_READER_IN_SHELL: Final = (
    ": ORC, CSV and JSON files need options that define how to read them: --format csv --schema "
    '"id LONG, day DATE"'
)


@dataclass(frozen=True, eq=False)
class TableListing:
    """A table as Spark currently lists it.

    Attributes:
        root: The root directory, a URI without a trailing slash.
        snapshot: Its files.
        schema: Spark's JSON of the data columns.
        partition_schema: Spark's JSON of the partition columns.
        case_sensitive: Whether column names are case-sensitive.
        reading: How files are read whose rows or values depend on the reader; None: they are
            Parquet, and have the columns by their names.
        loaded: The DataFrame that reads them.
        malformed: The column of `loaded` that has the malformed records of text files.
        overlapping: A partition column is also a column of the files.
        whole: All files of the table if the snapshot has only some of them.
        table_format: "delta" or "iceberg" if that lists the files; None: Spark does.
        refusal: Why an index cannot describe the files of a table format; None: it can.
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
    whole: FileKeys | None = None
    table_format: str | None = None
    refusal: str | None = None

    @property
    def row_reading(self) -> Reading | None:
        """The reading if all statistics are computed from rows; None: the files have footers."""
        return self.reading if self.reading is not None and self.reading.is_of_rows else None

    @property
    def all_files(self) -> FileKeys:
        return self.snapshot.files if self.whole is None else self.whole

    def only(self, ordinals: npt.NDArray[np.int64]) -> TableListing:
        """Return the listing of some of the files."""
        some = Snapshot(self.snapshot.files.take(ordinals), self.snapshot.partitions)
        return replace(self, snapshot=some, whole=self.all_files)


def list_table(
    spark: SparkSession, path_or_table: str, reader: DataFrameReader | None = None
) -> TableListing:
    """List a directory of files, or a table over one. Without a reader, a directory is Parquet.

    Raises:
        StatisticsIndexError: There is nothing to index, or the session has no shim.
    """
    loaded = None if reader is None else _loaded(spark, path_or_table, reader)
    with tempfile.TemporaryDirectory(prefix="tamis-listing-") as directory:
        document = export_listing(spark, path_or_table, directory, loaded)
        is_of_reader = not document.keys().isdisjoint(("reading", "iceberg", "delta"))
        if is_of_reader and loaded is None:
            # list again the DataFrame that is read later, since the table may be altered meanwhile
            loaded = _read(spark, path_or_table)
            document = export_listing(spark, path_or_table, directory, loaded)
        roots = document["roots"]
        if len(roots) != 1:
            shown = some_of([*map(unquote, roots)], _SHOWN)
            raise StatisticsIndexError(
                f"{path_or_table} has {len(roots)} root directories, but an index describes one: "
                f"build an index for each of them ({shown})"
            )
        # memory-mapped, so it stays readable when the directory is gone
        snapshot = open_snapshot(directory, document["fingerprint"])
    table_format = document.get("table_format")
    if table_format is None:  # the files of a table format may be anywhere
        require_directory(path_or_table, roots[0].rstrip("/"), snapshot)
    return TableListing(
        roots[0].rstrip("/"),
        snapshot,
        _text(document["schema"]),
        _text(document["partition_schema"]),
        bool(document["case_sensitive"]),
        _reading_in(document),
        loaded,
        document.get("malformed_record"),
        bool(document.get("overlapping", False)),
        table_format=table_format,
        refusal=document.get("refusal") or _unknown_version(document),
    )


def _unknown_version(document: Mapping[str, Any]) -> str | None:
    """Return why no query would use an index of the table; None: one may."""
    snapshot = document.get("iceberg")
    return None if snapshot is None else unknown_version(snapshot["format_version"])


def _reading_in(document: Mapping[str, Any]) -> Reading | None:
    if "iceberg" in document:
        return iceberg_reading(msgspec.convert(document["iceberg"], IcebergSnapshot))
    if "delta" in document:
        return delta_reading(**document["delta"])
    return reading_of(document["reading"]) if "reading" in document else None


def require_directory(target: str, root: str, snapshot: Snapshot) -> None:
    """Require that the root is a directory. The index of a single file would lie below the file.

    Raises:
        StatisticsIndexError: The root is a file.
    """
    directories = snapshot.files.directories
    if directories and not any(d == root or d.startswith(f"{root}/") for d in directories):
        directory = unquote(directories[0])
        raise StatisticsIndexError(
            f"{target} is a file, but an index describes a directory: pass {directory}. Queries "
            "that read only the file use that index too."
        )


def export_listing(
    spark: SparkSession, path_or_table: str, directory: str, loaded: DataFrame | None = None
) -> dict[str, Any]:
    """Let the JVM write a snapshot into a directory; return its fingerprint, schema and roots.

    Args:
        spark: The session.
        path_or_table: A path or URI, or the name of a table.
        directory: Where the snapshot is written.
        loaded: The DataFrame that a reader loaded from the path, if there is one.

    Raises:
        StatisticsIndexError: The session has no shim, or Spark cannot list the files.
    """
    shim = _required_shim(spark)
    try:
        with unlogged_errors():
            answer = (
                shim.exportListing(_java_session(spark), path_or_table, directory)
                if loaded is None
                else shim.exportListing(loaded._jdf, path_or_table, directory)
            )
    except Exception as problem:  # an error of PySpark or of py4j
        raise not_listed(path_or_table, problem, reads_parquet=loaded is None) from None
    document: dict[str, Any] = json.loads(answer)
    return document


def not_listed(target: str, problem: Exception, reads_parquet: bool) -> StatisticsIndexError:
    """Return the error for a table that Spark cannot list, with its cause.

    Args:
        target: The path or table.
        problem: What Spark raised.
        reads_parquet: There is no reader, so a path is read as Parquet.
    """
    text = f"{target} cannot be listed ({causes(problem)})"
    if reads_parquet and any(mark in str(problem) for mark in _NOT_PARQUET):
        return StatisticsIndexError(text + _READER, shell=text + _READER_IN_SHELL)
    if any(mark in str(problem) for mark in _SAYS_WHAT_TO_DO):
        return StatisticsIndexError(text)
    return StatisticsIndexError(f"{text}: check the path or the name of the table")


def is_read_alike(spark: SparkSession, target: str, listing: TableListing) -> bool:
    """Return whether the files of a listing are still read as when they were listed.

    That of a table of Iceberg can change while its rows are read: its tables are shared by all
    queries, and its name mapping is looked up when a scan starts. A relation of Delta keeps its
    columns.
    """
    if listing.table_format != "iceberg":
        return True
    with tempfile.TemporaryDirectory(prefix="tamis-listing-") as directory:
        document = export_listing(spark, target, directory, listing.loaded)
    return _reading_in(document) == listing.reading


def _read(spark: SparkSession, path_or_table: str) -> DataFrame:
    """Return the rows of a table, or of the table of Iceberg at a path."""
    from pyspark.sql.classic.dataframe import DataFrame

    rows = _required_shim(spark).read(_java_session(spark), path_or_table)
    return DataFrame(rows, spark)


def _loaded(spark: SparkSession, path: str, reader: DataFrameReader) -> DataFrame:
    _required_shim(spark)
    session = getattr(reader, "_spark", None)
    if session is None or not session._jsparkSession.equals(_java_session(spark)):
        raise StatisticsIndexError(
            "the reader belongs to another session, which may read the files differently: pass a "
            "reader of the same session, reader=spark.read…"
        )
    try:
        with unlogged_errors():
            return reader.load(path)
    except Exception as problem:  # an error of PySpark or of py4j
        text = f"{path} cannot be read ({causes(problem)})"
        if "UNABLE_TO_INFER_SCHEMA" not in str(problem):
            raise StatisticsIndexError(f"{text}: check the path and the reader") from None
        raise StatisticsIndexError(
            f'{text}: give the reader a schema, spark.read.format("csv").schema("id LONG")',
            shell=f'{text}: pass its columns, --schema "id LONG"',
        ) from None


def parse_value(spark: SparkSession, sql: str, schema: str) -> dict[str, Any]:
    """Analyze a value over a schema (Spark's JSON); return its document, type and any refusal.

    Raises:
        StatisticsIndexError: The session has no shim, or Spark cannot analyze the value.
    """
    shim = _required_shim(spark)
    try:
        with unlogged_errors():
            answer = shim.parseValue(_java_session(spark), sql, schema)
    except Exception as problem:  # an error of PySpark or of py4j
        raise StatisticsIndexError(
            f"expressions: {sql} cannot be analyzed ({causes(problem)}): write it as in a SELECT"
        ) from None
    document: dict[str, Any] = json.loads(answer)
    return document


def invalidate(spark: SparkSession, root: str) -> None:
    """Notify the session that the index of a root has changed. Without the shim, do nothing."""
    shim = shim_of(spark)
    if shim is not None:
        shim.invalidate(root)


def waiting_files(spark: SparkSession, root: str, location: str) -> int | None:
    """Return how many files wait for an automatic index; None if the sidecar does not run."""
    shim = shim_of(spark)
    return None if shim is None else shim.waitingFiles(_java_session(spark), root, location)


def shim_of(spark: SparkSession) -> Any | None:
    """Return the JVM object `io.tamis.Tamis`; None if this session does not have the jar."""
    jvm = getattr(spark, "_jvm", None)
    return None if jvm is None else shim_in(jvm)  # Spark Connect has no JVM


def _required_shim(spark: SparkSession) -> Any:
    shim = shim_of(spark)
    if shim is not None:
        return shim
    if getattr(spark, "_jvm", None) is None:
        raise StatisticsIndexError(
            "this is a Spark Connect session, which cannot build an index: use a classic session, "
            "or run python -m tamis index build"
        )
    raise StatisticsIndexError(WITHOUT_TAMIS)


def numbered(spark: SparkSession, rows: DataFrame) -> DataFrame:
    """Return rows with the number `id` of their file instead of `file`, `size` and `mtime`.

    See `rows.file_ids`.
    """
    from pyspark.sql.classic.dataframe import DataFrame

    return DataFrame(_required_shim(spark).numbered(rows._jdf), spark)


def aggregated(
    spark: SparkSession,
    rows: DataFrame,
    keys: Sequence[str],
    most: int,
    parts: Sequence[Mapping[str, Any]],
) -> DataFrame | None:
    """Return rows grouped by `keys`, with the number `n` of rows of each group and aggregates.

    Args:
        spark: The session.
        rows: The rows.
        keys: The columns by which they are grouped, `id` first.
        most: The most groups of a file. If it has more, some of its rows are left out.
        parts: What to compute of each group: see `group_sql.group_parts`.

    Returns:
        None if executors cannot compute them, because they do not have the jar.
    """
    from pyspark.sql.classic.dataframe import DataFrame

    shim = _required_shim(spark)
    grouped = shim.aggregated(rows._jdf, list(keys), most, json.dumps([*parts]))
    return None if grouped is None else DataFrame(grouped, spark)


def rows_in_order(
    spark: SparkSession, rows: DataFrame, orders: Sequence[Sequence[tuple[str, bool]]]
) -> DataFrame:
    """Return for each file whether its rows are sorted: see `RowsInOrder` of the extension.

    Args:
        spark: The session.
        rows: Rows with the columns FILE, `row_index`, and `old<k>` and the columns of order k.
        orders: Columns of the rows, and whether each descends.

    Returns:
        One row per file: FILE, the number `n` of rows, and `sorted<k>`, NULL where not known.
    """
    from pyspark.sql.classic.dataframe import DataFrame

    shim = _required_shim(spark)
    return DataFrame(shim.rowsInOrder(rows._jdf, json.dumps([list(o) for o in orders])), spark)


def storage_settings(spark: SparkSession) -> dict[str, str]:
    """Return the settings `fs.*` of a session, including those in the files of Hadoop.

    Raises:
        StatisticsIndexError: The session has no shim.
    """
    answer = _required_shim(spark).storageSettings(_java_session(spark))
    settings: dict[str, str] = json.loads(answer)
    return settings


def index_location(spark: SparkSession) -> str | None:
    """Return the conf spark.tamis.index.location; None if it is not set."""
    return spark.conf.get("spark.tamis.index.location", None) or None


def cache_location(spark: SparkSession) -> str | None:
    """Return the conf spark.tamis.cache.location; None if it is not set."""
    return conf_of(spark, "spark.tamis.cache.location") or None


def conf_of(spark: SparkSession, key: str) -> str | None:
    """Return a conf of tamis, or its default, which is None for some."""
    conf = entry(key)
    values = (spark.conf.get(each, None) for each in (conf.key, *conf.alternatives))
    default = None if conf.default is None else str(conf.default)
    return next((value for value in values if value), default)


def _java_session(spark: SparkSession) -> Any:
    return spark._jsparkSession


def _text(document: Any) -> str:
    return document if isinstance(document, str) else json.dumps(document)
