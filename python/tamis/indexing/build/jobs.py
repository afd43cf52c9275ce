"""The Spark jobs that read footers and rows, and the tables made of their results."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame

from tamis.errors import StatisticsIndexError
from tamis.indexing import storage
from tamis.indexing.build.listing import TableListing, shim_of
from tamis.indexing.build.progress import progress_of
from tamis.indexing.build.rows import footer_gaps, row_aggregation
from tamis.indexing.build.rows.csv_quotes import plain_lines
from tamis.indexing.build.rows.row_bounds import unknown_bounds
from tamis.indexing.build.rows.row_job import harvest_rows, no_row_groups
from tamis.indexing.build.spark_errors import causes
from tamis.indexing.executor import (
    chunk_sizes,
    columns_schema,
    decoding,
    executor_job,
    field_paths,
    footers,
    row_group_ranges,
    thrift,
)
from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.executor.field_paths import Stored
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns, RowStatistics
from tamis.indexing.format.table_schema import Schema
from tamis.indexing.read.reader_options import ICEBERG
from tamis.indexing.read.snapshot import FileKeys

if TYPE_CHECKING:
    from pyspark import SparkContext

_FILES_A_TASK = 64
_TASKS_A_CORE = 4
# The modules that executors run. They import only pyarrow, the standard library and each other.
_SHIPPED = (
    chunk_sizes,
    columns_schema,
    decoding,
    executor_job,
    field_paths,
    footers,
    row_group_ranges,
    storage,
    thrift,
)
# Pickled by value: executors need no installation of tamis, of this or any other version.
for _module in _SHIPPED:
    cloudpickle.register_pickle_by_value(_module)  # type: ignore[no-untyped-call]
_MOVES_INT96 = "spark.sql.parquet.int96TimestampConversion"
_BY_FIELD_ID = "spark.sql.parquet.fieldId.read.enabled"
_CHOOSING_PYTHON = threading.Lock()


@dataclass(frozen=True, eq=False)
class Harvest:
    """Statistics of files, by ordinal in the listing, and of row groups, by (file, start)."""

    files: pa.Table
    row_groups: pa.Table


def read_footers(
    spark: SparkSession,
    keys: FileKeys,
    ordinals: npt.NDArray[np.int64],
    columns: Sequence[Leaf],
    case_sensitive: bool,
    settings: Mapping[str, str],
    stored: Stored | None = None,
) -> Harvest:
    """Read the footers of the listed files at these ordinals, on the executors.

    For `stored` see `FooterReader`.
    """
    if len(ordinals) == 0:
        return empty_harvest(columns)
    context = spark.sparkContext
    listed = pa.table(
        {
            "ordinal": pa.array(ordinals, pa.int64()),
            "uri": pa.array(keys.uris(), pa.string()).take(pa.array(ordinals)),
            "size": keys.size.combine_chunks().take(pa.array(ordinals)),
        }
    )
    streams = _split(listed, _TASKS_A_CORE * context.defaultParallelism)
    read = partial(
        executor_job.harvest_stream,
        leaves=list(columns),
        case_sensitive=case_sensitive,
        settings=dict(settings),
        stored=stored,
    )
    results = _collected(context, streams, read, f"reading {len(ordinals)} footers")
    return Harvest(
        _gathered([files for files, _ in results], [("ordinal", "ascending")]),
        _gathered(
            [row_groups for _, row_groups in results],
            [("file", "ascending"), ("start", "ascending")],
        ),
    )


def column_sizes(
    spark: SparkSession, uris: Sequence[str], settings: Mapping[str, str]
) -> dict[tuple[str, str], int]:
    """Return the compressed bytes of each column in all of these files: see `chunk_sizes`.

    The footers are read on the executors.
    """
    context = spark.sparkContext
    read = partial(chunk_sizes.chunk_sizes, settings=dict(settings))
    tasks = min(len(uris), context.defaultParallelism)
    parts = [list(uris[k::tasks]) for k in range(tasks)]
    total: Counter[tuple[str, str]] = Counter()
    what = f"reading the sizes of the columns of {len(uris)} files"
    for sizes in _collected(context, parts, lambda part: [read(part)], what):
        total.update(sizes)
    return dict(total)


def _collected(
    context: SparkContext,
    parts: Sequence[Any],
    read: Callable[[Any], Iterable[Any]],
    what: str,
) -> list[Any]:
    """Return what a function returns for each part, computed by one task per part.

    Args:
        context: The context.
        parts: The arguments of the function.
        read: The function. Executors run it.
        what: What the progress bar says.
    """
    with _own_python(context):
        # an RDD, since mapInArrow needs pandas
        job = context.parallelize(parts, len(parts)).flatMap(lambda part: read(part))
        # pickles the function and chooses the Python of the workers here rather than in collect
        _ = job._jrdd
    with progress_of(context, what):
        return job.collect()


def read_rows(
    spark: SparkSession,
    path_or_table: str,
    listing: TableListing,
    ordinals: npt.NDArray[np.int64],
    columns: Sequence[Leaf],
    schema: Schema,
) -> Harvest:
    """Read the statistics of files that are not Parquet from their rows: see `harvest_rows`."""
    frame = _everything(spark, path_or_table, listing)
    watch = partial(progress_of, spark.sparkContext)
    keys, malformed = listing.snapshot.files, listing.malformed
    reading = listing.row_reading
    lines, pattern = None, None if reading is None else plain_lines(reading)
    if pattern is not None:
        text = _everything(spark, path_or_table, listing, as_lines=True)
        lines = text.withColumn("suspicious", ~text[text.columns[0]].rlike(pattern))
    files = harvest_rows(
        spark, frame, keys, listing.all_files, ordinals, columns, schema, malformed, watch, lines
    )
    return Harvest(files, no_row_groups(columns))


def _everything(
    spark: SparkSession,
    path_or_table: str,
    listing: TableListing,
    as_lines: bool = False,
    skips_unreadable: bool = False,
) -> DataFrame:
    """Return all rows of the table, or the lines of its text files in the first column.

    Raises:
        StatisticsIndexError: The table cannot be read as it was listed.
    """
    shim = shim_of(spark)
    assert shim is not None  # the listing came from it
    source = spark._jsparkSession if listing.loaded is None else listing.loaded._jdf
    try:
        rows = shim.files(source, path_or_table, as_lines, skips_unreadable)
    except Exception as problem:  # such as a table of Delta whose columns have changed meanwhile
        why = f"the rows of {path_or_table} cannot be read ({causes(problem)}): run it again"
        raise StatisticsIndexError(why) from problem
    return DataFrame(rows, spark)


def aggregate_rows(
    spark: SparkSession,
    path_or_table: str,
    listing: TableListing,
    ordinals: npt.NDArray[np.int64],
    num_records: Sequence[int | None],
    entries: Sequence[Entry],
    row_groups: Sequence[Sequence[int]] | None = None,
) -> RowStatistics:
    """Aggregate the rows of the listed files at these ordinals with Spark: see `row_aggregation`.

    Raises:
        StatisticsIndexError: An entry reads a timestamp, and the session converts INT96 timestamps;
            or the session matches columns by field id.
    """
    why = next(filter(None, map(_refusals(spark, path_or_table, listing), entries)), None)
    if why is not None:
        raise StatisticsIndexError(why)
    frame = _everything(spark, path_or_table, listing)
    watch = partial(progress_of, spark.sparkContext)
    keys = listing.snapshot.files
    return row_aggregation.aggregate(
        spark, frame, keys, listing.all_files, ordinals, num_records, entries, watch, row_groups
    )


def _refusals(
    spark: SparkSession, path_or_table: str, listing: TableListing
) -> Callable[[Entry], str | None]:
    """Return a function that says why this session cannot record an entry; None if it can."""

    def is_true(conf: str) -> bool:
        return (spark.conf.get(conf, "false") or "").strip().lower() == "true"

    # the scan of Iceberg ignores both confs
    if listing.table_format == ICEBERG:
        return lambda _: None
    has_ids = listing.row_reading is None and "parquet.field.id" in listing.schema
    by_field_id, moves_int96 = has_ids and is_true(_BY_FIELD_ID), is_true(_MOVES_INT96)

    def refusal(entry: Entry) -> str | None:
        if by_field_id:
            return (
                f"statistics of rows cannot be recorded while {_BY_FIELD_ID} is true, because the "
                f"columns of {path_or_table} have field ids: SET {_BY_FIELD_ID} = false"
            )
        if moves_int96 and any(kind == "timestamp" for _, kind in entry.guards):
            return (
                f"statistics of timestamps cannot be recorded while {_MOVES_INT96} is true, "
                "because Spark then shifts INT96 timestamps of other writers by the session's time "
                f"zone: SET {_MOVES_INT96} = false"
            )
        return None

    return refusal


def fill_gaps(
    spark: SparkSession,
    path_or_table: str,
    listing: TableListing,
    entries: Sequence[Entry],
    files: pa.Table,
    ordinals: npt.NDArray[np.int64],
    known: Sequence[Entry],
) -> tuple[list[Entry], RowStatistics, dict[str, list[str]]]:
    """Record the bounds of columns whose footers do not suffice: see `footer_gaps.fill`.

    Files that Spark cannot read have fewer rows than their footers state, so nothing is recorded of
    them.

    Returns:
        The entries, their statistics, and the columns that could not be recorded, by the reason.
    """
    problems: dict[str, list[str]] = {}
    watch = partial(progress_of, spark.sparkContext)

    @cache
    def rows() -> DataFrame:
        return _everything(spark, path_or_table, listing, skips_unreadable=True)

    def give_up(why: str, places: npt.NDArray[np.int64], chosen: Sequence[Entry]) -> RowStatistics:
        problems.setdefault(why, []).extend(entry.name for entry in chosen)
        unknown = tuple(unknown_bounds(entry, len(places)) for entry in chosen)
        return RowStatistics(unknown, (0.0,) * len(chosen))

    def read(places: npt.NDArray[np.int64], chosen: Sequence[Entry]) -> RowStatistics:
        try:
            records = files.column("num_records").take(pa.array(places)).to_pylist()
            keys = listing.snapshot.files
            return row_aggregation.aggregate(
                spark, rows(), keys, listing.all_files, places, records, chosen, watch
            )
        except StatisticsIndexError as problem:
            return give_up(str(problem), places, chosen)
        except Exception as problem:  # an error of Spark or py4j; the footers are read already
            return give_up(causes(problem), places, chosen)

    by_refusal: dict[str | None, list[Entry]] = {}
    refusal = _refusals(spark, path_or_table, listing)
    for entry in entries:
        by_refusal.setdefault(refusal(entry), []).append(entry)
    filled: list[Entry] = []
    parts: list[Columns] = []
    seconds: list[float] = []
    for why, group in by_refusal.items():
        aggregate = read if why is None else partial(give_up, why)
        found, statistics = footer_gaps.fill(group, files, ordinals, known, aggregate)
        filled += found
        parts += statistics.parts
        seconds += statistics.seconds
    return filled, RowStatistics(tuple(parts), tuple(seconds)), problems


def _split(table: pa.Table, parts: int) -> list[bytes]:
    """Split a table into Arrow IPC streams.

    There are at most `parts` streams. Each but the last has `_FILES_A_TASK` rows or more.
    """
    rows = max(_FILES_A_TASK, -(-table.num_rows // parts))
    streams = []
    for start in range(0, table.num_rows, rows):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(start, rows))
        streams.append(sink.getvalue().to_pybytes())
    return streams


def own_session(settings: Mapping[str, str]) -> SparkSession:
    """Return the Spark session for one command of the command line."""
    import tamis

    builder = SparkSession.builder.appName("tamis").config("spark.ui.enabled", "false")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return tamis.configure(builder).getOrCreate()


def empty_harvest(columns: Sequence[Leaf]) -> Harvest:
    """Return the statistics of zero files."""
    return Harvest(
        executor_job.files_table([], [], columns), executor_job.row_groups_table([], [], columns)
    )


def _gathered(streams: Sequence[bytes], order: list[tuple[str, str]]) -> pa.Table:
    table = pa.concat_tables([pa.ipc.open_stream(stream).read_all() for stream in streams])
    return table.sort_by(order)


@contextmanager
def _own_python(context: SparkContext) -> Iterator[None]:
    """In local mode, let the workers run the Python of the driver, which is known to have pyarrow.

    A Python that the user chose is not replaced.
    """
    chosen = os.environ.get("PYSPARK_PYTHON") or context.getConf().get("spark.pyspark.python")
    if chosen or not str(context.master).startswith("local"):
        yield
        return
    with _CHOOSING_PYTHON:
        before = context.pythonExec
        context.pythonExec = sys.executable
        try:
            yield
        finally:
            context.pythonExec = before
