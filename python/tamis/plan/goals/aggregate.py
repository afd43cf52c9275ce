"""COUNT, MIN and MAX: which files their statistics can replace, and what those files contribute.

A file is *covered* if all of its rows pass the filters, its number of rows is known, and its
contribution to every aggregate is certain. COUNT(c) needs the number of NULLs. MIN(c) and MAX(c)
need a bound that is the value of some row, or the knowledge that all rows are NULL.

    file   rows  passes  nulls of c  c          COUNT(*)  COUNT(c)  MIN(c)
    f1     10    all     2           3 .. 7     10        8         3
    f2     10    some    0           5 .. 99    (the file is read)
    f3     10    all     10          (none)     10        0         NULL: contributes nothing
    f4     10    all     unknown     1 .. 2     10        (read)    1

The aggregates can be combined from disjoint sets of rows: COUNT is the sum of the counts, MIN is
the MIN of the MINs, MAX the MAX of the MAXs. So the partial aggregates of the covered files,
combined with those of the rows of the other files, give the aggregate over all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Flags
from tamis.expr.decimals import from_unscaled
from tamis.expr.nodes import Value
from tamis.files.segments import Segment
from tamis.plan.goals.contributions import Aggregate, Function, contributions
from tamis.plan.goals.minmax_skipping import Known, cannot_improve, chosen

__all__ = ["Answered", "NotTextError", "Partial", "answer"]

Longs = npt.NDArray[np.int64]


class NotTextError(ValueError):
    """The value of an aggregate is a string that is not valid UTF-8, so it cannot be sent.

    Indexes have no such bounds: they are truncated to valid UTF-8.
    """

    def __init__(self, aggregate: Aggregate) -> None:
        super().__init__(str(aggregate))
        self.aggregate = aggregate


@dataclass(frozen=True, slots=True)
class Partial:
    """What the covered files of one group contribute.

    `values` has one value per aggregate, in their order. None means NULL.
    """

    key: int
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """The part of an aggregate that statistics answer.

    - `left`: one flag per file, set for the files that still have to be read.
    - `covered`: the number of files that statistics replace.
    - `skipped`: the number of other files that cannot change the answer.
    - `partials`: one entry per group that has rows in covered files.
    """

    left: Flags
    covered: int
    skipped: int
    partials: tuple[Partial, ...]

    @property
    def is_nothing(self) -> bool:
        """Whether every file has to be read."""
        return self.covered + self.skipped == 0


def answer(
    aggregates: Sequence[Aggregate],
    segments: Sequence[Segment],
    kept: Flags,
    matching: Flags,
    num_records: Longs,
    keys: npt.NDArray[np.intp] | None,
    raising: Flags | None = None,
) -> Answered:
    """Return the part of grouped aggregates over the filtered rows that statistics answer.

    Args:
        aggregates: The aggregates.
        segments: The statistics of the files.
        kept: One flag per file, set if the file may hold rows that pass the filters.
        matching: One flag per file, set if the file is kept and all of its rows pass.
        num_records: The number of rows of each file, -1 where it is not known.
        keys: The group of each file. None means that there is a single group, which exists even
            without rows.
        raising: Flags of files that must be read even if they cannot change the answer, because
            a filter may raise an error in them.

    Raises:
        NotTextError: The value of an aggregate is not valid UTF-8.
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


# --- combining the contributions of files -----------------------------------------------------


def _combined(aggregates: Sequence[Aggregate], tables: Sequence[pa.Table]) -> pa.Table:
    """Return a table with one row per group that has rows.

    Its columns are `key`, `rows` and one column per aggregate, named by its ordinal.
    """
    names = ["rows", *map(str, range(len(aggregates))), "key"]
    if not tables:
        none = dict.fromkeys(names, pa.nulls(0))
        return pa.table(none | {"key": pa.array([], pa.int64())})
    how = [("rows", "sum")]
    for ordinal, each in enumerate(aggregates):
        how.append((str(ordinal), "sum" if each.function is Function.COUNT else each.function))
    grouped = pa.concat_tables(tables).group_by("key").aggregate(how)
    named = grouped.select([*(f"{name}_{kind}" for name, kind in how), "key"]).rename_columns(names)
    # A group exists only if it has a row.
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
    """Return the value of an edge as a constant.

    Raises:
        NotTextError: The edge of a string column is not valid UTF-8.
    """
    if raw is None or aggregate.function is Function.COUNT or aggregate.column is None:
        return raw  # type: ignore[no-any-return]
    data_type = aggregate.column.type
    if data_type.name == "boolean":
        return bool(raw)
    if data_type.name == "string":
        try:
            return bytes(raw).decode()
        except UnicodeDecodeError as problem:
            raise NotTextError(aggregate) from problem
    if data_type.is_decimal and isinstance(raw, int):
        return from_unscaled(raw, data_type.scale or 0)
    return raw  # type: ignore[no-any-return]
