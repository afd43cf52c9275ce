"""COUNT, MIN and MAX: which files are answered for by their statistics, and what they contribute.

A file is *covered* where every row of it passes the filters, its number of rows is known, and for
every aggregate its contribution is certain: the number of NULLs for COUNT(c); for MIN(c) and MAX(c)
a bound that some row of the file holds, or that all rows are NULL.

    file   rows  passes  nulls of c  c          COUNT(*)  COUNT(c)  MIN(c)
    f1     10    all     2           3 .. 7     10        8         3
    f2     10    some    0           5 .. 99    it is read
    f3     10    all     10          (none)     10        0         NULL: contributes nothing
    f4     10    all     unknown     1 .. 2     10        read      1

COUNT is the sum over disjoint sets of rows, MIN and MAX are those of the MIN and MAX of each; so an
aggregate over the rows of the covered files and over the rows of the others give the whole one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluate.bounds import Flags
from tamis.expr.decimals import from_unscaled
from tamis.expr.nodes import Value
from tamis.plan.contributions import Aggregate, Function, contributions
from tamis.plan.improving import Known, cannot_improve, chosen
from tamis.plan.scan import Segment

__all__ = ["Answered", "Partial", "answer"]

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Partial:
    """What the covered files with one key contribute: a value an aggregate, None: NULL."""

    key: int
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """`left`: flags of the files that are still to be read.  partials: only of keys with rows.

    covered: how many files are answered for.  skipped: how many others cannot change the answer.
    """

    left: Flags
    covered: int
    skipped: int
    partials: tuple[Partial, ...]


def answer(
    aggregates: Sequence[Aggregate],
    segments: Sequence[Segment],
    kept: Flags,
    matching: Flags,
    num_records: Longs,
    keys: npt.NDArray[np.intp] | None,
    raising: Flags | None = None,
) -> Answered:
    """What statistics answer of aggregates, grouped by keys, over the rows that pass the filters.

    kept: the files that may hold such rows.  matching: those of them that hold nothing else.
    num_records: rows of every file, -1 where not known.  keys: the group of every file; None: there
    is one group, also of no row.  raising: files that are read even if they cannot change the
    answer, because a filter may raise in them.
    """
    key_of = np.zeros(len(kept), np.intp) if keys is None else keys
    covered = np.zeros(len(kept), np.bool_)
    tables = []
    for segment in segments:
        for ordinals, statistics in chosen(segment, matching & (num_records >= 0) & ~covered):
            sure, table = contributions(aggregates, statistics, num_records[ordinals])
            rows = np.flatnonzero(sure)
            covered[ordinals[rows]] = True
            key = pa.array(key_of[ordinals], pa.int64())
            tables.append(table.append_column("key", key).take(pa.array(rows)))
    combined = _combined(aggregates, tables)
    left = kept & ~covered
    skipped = np.zeros(len(kept), np.bool_)
    if left.any() and not any(each.function is Function.COUNT for each in aggregates):
        known = Known(matching, num_records, key_of, keys is not None, combined)
        skipped = cannot_improve(aggregates, segments, left, known)
        if raising is not None:
            skipped &= ~raising
    return Answered(
        left & ~skipped,
        int(np.count_nonzero(covered)),
        int(np.count_nonzero(skipped)),
        _partials(aggregates, combined),
    )


# --- what they contribute together ------------------------------------------------------------


def _combined(aggregates: Sequence[Aggregate], tables: Sequence[pa.Table]) -> pa.Table:
    """One row a key that has rows: `key`, `rows`, and a column an aggregate."""
    names = ["rows", *map(str, range(len(aggregates))), "key"]
    if not tables:
        none = dict.fromkeys(names, pa.nulls(0))
        return pa.table(none | {"key": pa.array([], pa.int64())})
    how = [("rows", "sum")]
    for ordinal, each in enumerate(aggregates):
        how.append((str(ordinal), "sum" if each.function is Function.COUNT else each.function))
    grouped = pa.concat_tables(tables).group_by("key").aggregate(how)
    named = grouped.select([*(f"{name}_{kind}" for name, kind in how), "key"]).rename_columns(names)
    # A group exists where there is a row.
    return named.filter(pc.greater(named.column("rows"), 0)).combine_chunks()


def _partials(aggregates: Sequence[Aggregate], combined: pa.Table) -> tuple[Partial, ...]:
    columns = [combined.column(str(ordinal)).to_pylist() for ordinal in range(len(aggregates))]
    return tuple(
        Partial(
            key,
            tuple(
                _value(column[row], each) for each, column in zip(aggregates, columns, strict=True)
            ),
        )
        for row, key in enumerate(combined.column("key").to_pylist())
    )


def _value(raw: Any, aggregate: Aggregate) -> Value:
    """A value of an edge as a constant; UnicodeDecodeError for a string that is none."""
    if raw is None or aggregate.function is Function.COUNT or aggregate.column is None:
        return raw  # type: ignore[no-any-return]
    data_type = aggregate.column.type
    if data_type.name == "boolean":
        return bool(raw)
    if data_type.name == "string":
        return bytes(raw).decode()
    if data_type.is_decimal and isinstance(raw, int):
        return from_unscaled(raw, data_type.scale or 0)
    return raw  # type: ignore[no-any-return]
