"""Statistics of ORC, CSV and JSON files, computed from their rows.

One Spark aggregation over all rows, grouped by file, computes the number of rows, and the exact
least and greatest value and the number of NULLs of every column. Text files are read with every
column and with the one that has malformed records. Nothing is recorded of a file with such a
record, not even its number of rows, because what a query reads from that record depends on the
columns of the query. The same applies to a CSV file with other than plain quotes, see `csv_quotes`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.expr.sql import identifier
from tamis.indexing.build.rows.csv_quotes import SUSPICIOUS
from tamis.indexing.build.rows.file_rows import FileRows, Watch
from tamis.indexing.build.rows.row_aggregation import failed
from tamis.indexing.build.rows.row_bounds import bounds_at, kinds_of
from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.executor.executor_job import row_groups_table
from tamis.indexing.format.entries import Entry, column_entry
from tamis.indexing.format.row_sql import FILE, TEXT, bounds_sql
from tamis.indexing.format.table_schema import Schema
from tamis.indexing.read.snapshot import FileKeys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["CHANGED", "harvest_rows", "no_row_groups"]

#: The problem of a file whose statistics may be known after another attempt.
CHANGED: Final = "the file has changed since it was listed, or Spark found no row in it"


def no_row_groups(leaves: Sequence[Leaf]) -> pa.Table:
    """Return the row groups of files of these formats: none, since they are read whole."""
    return row_groups_table([], [], leaves)


def harvest_rows(
    spark: SparkSession,
    frame: DataFrame,
    keys: FileKeys,
    everything: FileKeys,
    ordinals: npt.NDArray[np.int64],
    leaves: Sequence[Leaf],
    schema: Schema,
    malformed: str | None,
    watch: Watch,
    lines: DataFrame | None = None,
) -> pa.Table:
    """Return statistics of the listed files at these ordinals, in the form of `read_footers`.

    Args:
        spark: The session.
        frame: All rows of the table, with the column `malformed` if the files are text.
        keys: The keys of the listed files.
        everything: The keys of all files of the table.
        ordinals: The ordinals of the files to read.
        leaves: The columns to describe.
        schema: The columns of the table.
        malformed: The name of the column that has malformed records; None: there is none.
        watch: Shows the progress of the job.
        lines: The lines of CSV files with the column `suspicious`, see `csv_quotes`.

    Raises:
        StatisticsIndexError: Spark cannot read the files.
    """
    entries = [column_entry("bounds", leaf, schema) for leaf in leaves]
    job = FileRows(spark, frame, keys, everything, ordinals, None, watch)
    if not len(ordinals):
        return _table(ordinals, leaves, entries, job, None)
    # Count the other columns as well: a parser does not notice that a value does not parse if the
    # query does not read its column.
    whole = {leaf.path[0] for leaf in leaves if len(leaf.path) == 1}
    others = [] if malformed is None else [c for c in frame.columns if c not in {*whole, malformed}]
    is_malformed = "false" if malformed is None else f"{identifier((malformed,))} IS NOT NULL"
    more = [f"({is_malformed}) AS malformed"]
    more += [f"{identifier((name,))} AS c{j}" for j, name in enumerate(others)]
    wanted = [", ".join(FILE), "count(*) AS n", "count_if(malformed) AS malformed"]
    wanted += [f"count(c{j}) AS c{j}" for j in range(len(others))]
    for k, entry in enumerate(entries):
        wanted += bounds_sql(k, entry)
    if any(entry.type in TEXT for entry in entries):
        # as in `row_aggregation`: always empty, and makes Spark aggregate by hash
        wanted.append("collect_set(CAST(NULL AS INT)) AS nothing")
    text = f"SELECT {', '.join(wanted)} FROM {{rows}} GROUP BY {', '.join(FILE)}"
    places = list(range(len(ordinals)))
    try:
        with watch(f"aggregating the rows of {len(ordinals)} files"):
            table = job.sql(text, job.rows(entries, places, more))
        suspicious: set[int] = set()
        if lines is not None:
            with watch(f"checking the quotes of {len(ordinals)} files"):
                suspicious = _suspicious(
                    FileRows(spark, lines, keys, everything, ordinals, None, watch), places
                )
    except Exception as problem:  # an error of PySpark or of py4j
        fix = "repair or remove the file that fails, or pass a schema and options that fit it"
        raise failed("the rows of the files", problem, fix) from problem
    return _table(ordinals, leaves, entries, job, table, suspicious)


def _suspicious(job: FileRows, places: Sequence[int]) -> set[int]:
    """Return the places of the files with a suspicious line, and of those that have changed."""
    found = job.sql(
        f"SELECT {', '.join(FILE)}, count_if(suspicious) AS n FROM {{rows}} "
        f"GROUP BY {', '.join(FILE)}",
        job.rows([], places, ["suspicious"]),
    )
    counts = found.column("n").to_pylist()
    plain = {place for place, row in zip(*job.matched(found), strict=True) if not counts[row]}
    return set(places) - plain


def _table(
    ordinals: npt.NDArray[np.int64],
    leaves: Sequence[Leaf],
    entries: Sequence[Entry],
    job: FileRows,
    table: pa.Table | None,
    suspicious: Collection[int] = (),
) -> pa.Table:
    at = np.full(len(ordinals), -1, np.int64)
    problems: list[str | None] = [CHANGED] * len(ordinals)
    records: list[int | None] = [None] * len(ordinals)
    if table is not None:
        counts, malformed = (table.column(name).to_pylist() for name in ("n", "malformed"))
        for place, row in zip(*job.matched(table), strict=True):
            problems[place] = None
            if malformed[row]:
                problems[place] = (
                    f"{malformed[row]} of {counts[row]} records do not parse under the schema"
                )
            elif place in suspicious:
                problems[place] = SUSPICIOUS
            else:
                at[place], records[place] = row, counts[row]
    columns: dict[str, Any] = {
        "ordinal": pa.array(ordinals, pa.int64()),
        "problem": pa.array(problems, pa.string()),
        "num_records": pa.array(records, pa.int64()),
        "row_groups": pa.nulls(len(ordinals), pa.int32()),
    }
    for k, (leaf, entry) in enumerate(zip(leaves, entries, strict=True)):
        part = {} if table is None else (bounds_at(k, entry, table, at).columns or {})
        for name, kind in kinds_of(leaf).items():
            columns[f"{name}.{leaf.name}"] = part.get(name, pa.nulls(len(ordinals), kind))
    return pa.table(columns)
