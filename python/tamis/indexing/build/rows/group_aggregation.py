"""Aggregates of the groups of rows of each file, for the entries with the same columns `by`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import StatisticsIndexError
from tamis.indexing.build.listing import aggregated, numbered
from tamis.indexing.build.rows.file_ids import FileIds
from tamis.indexing.build.rows.file_rows import FileRows, owners
from tamis.indexing.build.rows.group_job_result import GroupJobResult
from tamis.indexing.build.rows.long_sums import are_incomplete, as_decimals, summed_type
from tamis.indexing.format.aggregate_sql import APPROXIMATE, ROWS, register_bytes
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns
from tamis.indexing.format.group_sql import (
    aggregates_sql,
    group_columns,
    group_keys,
    listed_sql,
)
from tamis.indexing.format.groups import MAX_GROUPS, most_groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["aggregate_groups"]

#: Groups that are collected at a time, about 60 bytes each.
_MOST_COLLECTED: Final = 2_000_000
#: Bytes of registers that are collected at a time.
_MOST_BYTES: Final = 1 << 28


def aggregate_groups(files: FileRows, entries: Sequence[Entry]) -> Iterator[Columns]:
    """Return the aggregates of each entry. All have the same columns `by`."""
    # registers take more memory, so that fewer files are aggregated at a time
    sketches = [entry for entry in entries if entry.kind == APPROXIMATE]
    others = [entry for entry in entries if entry.kind != APPROXIMATE]
    found = iter(_aggregates(files, others)), iter(_registers(files, sketches))
    return (next(found[entry.kind == APPROXIMATE]) for entry in entries)


def _registers(files: FileRows, entries: Sequence[Entry]) -> Iterator[Columns]:
    """Return the registers of approx_count_distinct of each entry.

    Raises:
        StatisticsIndexError: Executors cannot compute them.
    """
    if not entries:
        return
    gathered = [GroupJobResult(entry, len(files.uris)) for entry in entries]
    most = min(map(most_groups, entries)) + 1
    size = sum(register_bytes(entry.deviation or 1) for entry in entries)
    for places in files.batches([most], max(most, _MOST_BYTES // size)):
        with files.watch(f"counting distinct values of the groups of {len(places)} files"):
            table = _by_extension(files, places, entries)
        if table is None:
            raise StatisticsIndexError(
                "approx_count_distinct cannot be recorded, because executors do not have the jar "
                'of tamis: pass it to --jars, see "python -m tamis jar", or leave it out'
            )
        places_of_groups = _owners(files, places)(table)
        for k, each in enumerate(gathered):
            each.add(k, table, places_of_groups)
    empty = np.flatnonzero(files.records == 0).tolist()
    yield from [each.finished(empty) for each in gathered]


def _aggregates(files: FileRows, entries: Sequence[Entry]) -> Iterator[Columns]:
    """Return the aggregates of each entry other than registers."""
    if not entries:
        return
    gathered = [GroupJobResult(entry, len(files.uris)) for entry in entries]
    for places in files.batches([MAX_GROUPS + 1], _MOST_COLLECTED):
        again: Sequence[int] = range(len(entries))
        owner = _owners(files, places)
        with files.watch(f"aggregating the groups of {len(places)} files"):
            table = _by_extension(files, places, entries)
        if table is not None:
            again = [k for k in again if are_incomplete(k, entries[k], table)]
            complete = [k for k in range(len(entries)) if k not in again]
            for k in complete:
                if entries[k].kind == "sum":
                    table = as_decimals(k, entries[k], table)
            places_of_groups = owner(table)
            for k in complete:
                gathered[k].add(k, table, places_of_groups)
        if not again:
            continue
        with files.watch(f"adding up decimals of {len(places)} files"):
            table = _decimals(files, places, [entries[k] for k in again])
        places_of_groups = owner(table)
        for number, k in enumerate(again):
            gathered[k].add(number, table, places_of_groups)
    empty = np.flatnonzero(files.records == 0).tolist()
    yield from [each.finished(empty) for each in gathered]


def _by_extension(
    files: FileRows, places: Sequence[int], entries: Sequence[Entry]
) -> pa.Table | None:
    """Return the aggregates of the groups of some files, the groups of a file in order.

    Sums are those of LONG, see `long_sums`. None: executors cannot compute them.
    """
    rows, sources = _rows(files, places, entries)
    most = max(map(most_groups, entries))
    parts = [*_parts(entries, sources)]
    grouped = aggregated(files.spark, rows, group_keys(entries[0]), most, parts)
    if grouped is None:
        return None
    table = files.spark.sql(listed_sql(entries), grouped=grouped).toArrow()
    return _in_order(table, entries[0])


def _parts(entries: Sequence[Entry], sources: Sequence[int]) -> Iterator[dict[str, object]]:
    """Yield what the extension computes of each group, as `OfGroup` reads it."""
    for k, (entry, source) in enumerate(zip(entries, sources, strict=True)):
        of_value: dict[str, object] = {"k": k, "source": f"v{source}"}
        if entry.guards:
            yield {"k": k, "source": f"old{source}", "kind": "seen"}
        if entry.kind == "sum":
            yield of_value | {"kind": "sum", "type": summed_type(entry)}
        elif entry.kind == APPROXIMATE:
            yield of_value | {"kind": "registers", "deviation": entry.deviation or 1}
        elif entry.kind != "count":
            yield of_value | {"kind": entry.kind}
        if entry.sql != ROWS and entry.kind != "sum":  # a sum counts its values, too
            yield of_value | {"kind": "count"}


def _decimals(files: FileRows, places: Sequence[int], entries: Sequence[Entry]) -> pa.Table:
    """Return the same with sums as decimals, as Spark computes them.

    If there are more groups than can be recorded, only as many of each file as show that they are
    too many.
    """
    rows, sources = _rows(files, places, entries)
    keys = ", ".join(group_keys(entries[0]))
    wanted = ", ".join(aggregates_sql(entries, sources))
    grouped = files.spark.sql(f"SELECT {keys}, {wanted} FROM {{rows}} GROUP BY {keys}", rows=rows)
    most = max(map(most_groups, entries)) + 1
    limit = int(np.minimum(files.records[list(places)], most).sum())
    table = files.spark.sql(listed_sql(entries, limit + 1), grouped=grouped).toArrow()
    if len(table) > limit:
        table = files.spark.sql(listed_sql(entries, limit, cuts=True), grouped=grouped).toArrow()
    return _in_order(table, entries[0])


def _in_order(table: pa.Table, entry: Entry) -> pa.Table:
    """Return groups with those of a file in the order of their columns, NULL first."""
    keys = [name for name in group_keys(entry) if name != "id"]
    if not keys:
        return table
    # Spark orders booleans, numbers, times and bytes as Arrow does
    columns = {}
    for name in keys:
        columns[f"{name} is known"] = pc.is_valid(table.column(name))  # false: NULL is first
        columns[name] = table.column(name)
    order = pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending") for name in columns])
    return table.take(order)


def _rows(
    files: FileRows, places: Sequence[int], entries: Sequence[Entry]
) -> tuple[DataFrame, list[int]]:
    """Return the rows, and the number of the value of each entry in them.

    Aggregates of the same value share it, so that it is computed once in each row.
    """
    first: dict[tuple[object, ...], int] = {}
    valued: list[Entry] = []
    for entry in entries:
        if first.setdefault((entry.sql, entry.guards), len(valued)) == len(valued):
            valued.append(entry)
    sources = [first[entry.sql, entry.guards] for entry in entries]
    rows = files.rows_at(places, valued, group_columns(entries[0]))
    return numbered(files.spark, rows), sources


def _owners(files: FileRows, places: Sequence[int]) -> Callable[[pa.Table], npt.NDArray[np.int64]]:
    """Return a function that returns the place of the file of each group.

    The place is -1 if Spark did not read the file as it was listed, and completely.
    """
    ids = FileIds(
        [files.uris[i] for i in places],
        [files.sizes[i] for i in places],
        [files.mtimes[i] for i in places],
    )

    def owner(table: pa.Table) -> npt.NDArray[np.int64]:
        counts = table.group_by("id").aggregate([("n", "sum")])
        found = counts.column("id").to_pylist()
        named = ids.places(found)
        whole = {
            number: places[named[number]]
            for number, n in zip(found, counts.column("n_sum").to_pylist(), strict=True)
            if number in named and n == files.records[places[named[number]]]
        }
        return owners(table.column("id").combine_chunks(), whole)

    return owner
