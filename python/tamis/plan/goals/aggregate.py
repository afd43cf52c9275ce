"""Aggregates: which files their statistics can replace, and what those files contribute.

A file is *covered* if all of its rows pass the filters, its number of rows is known, and its
contribution to every aggregate is certain. COUNT(c) needs the number of NULLs. MIN(c) and MAX(c)
need a bound that is the value of some row, or the knowledge that all rows are NULL.

    file   rows  passes  nulls of c  c          COUNT(*)  COUNT(c)  MIN(c)
    f1     10    all     2           3 .. 7     10        8         3
    f2     10    some    0           5 .. 99    (the file is read)
    f3     10    all     10          (none)     10        0         NULL: contributes nothing
    f4     10    all     unknown     1 .. 2     10        (read)    1

An aggregate with a FILTER (WHERE …) counts some of the rows that pass the filters. Its contribution
is certain if all rows of the file count, or if none does: then it is that of a file without rows.

A file is covered, too, if statistics of its groups show which of its rows pass the filters, and
what these contribute: see `group_contributions`. An index may record such aggregates, also SUM.

The aggregates can be combined from disjoint sets of rows: COUNT is the sum of the counts, MIN is
the MIN of the MINs, MAX the MAX of the MAXs, SUM the sum of the sums where `sum_limits` proves that
the order does not matter. The registers of APPROX_COUNT_DISTINCT are merged. So the partial
aggregates of the covered files, combined with those of the rows of the other files, give the
aggregate over all rows.
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
from tamis.evaluation.domain.registers import merged_lists
from tamis.expr.nodes import Column, Expr, Value
from tamis.files.arrow_edges import value_of_cell
from tamis.files.segments import Segment
from tamis.plan.goals.aggregate_functions import Aggregate, Function, cells_to_combine
from tamis.plan.goals.contributions import contributions
from tamis.plan.goals.fully_matching import can_match_fully
from tamis.plan.goals.group_contributions import by_cells, group_contributions
from tamis.plan.goals.minmax_skipping import Known, cannot_improve, chosen
from tamis.plan.goals.sum_limits import may_exceed
from tamis.plan.goals.wide_sums import from_limbs
from tamis.plan.scan_decision import together

__all__ = ["Answered", "MayOverflowError", "NotTextError", "Partial", "answer"]

Longs = npt.NDArray[np.int64]


class NotTextError(ValueError):
    """The value of an aggregate is a string that is not valid UTF-8, so it cannot be sent.

    Indexes have no such bounds: they are truncated to valid UTF-8.
    """

    def __init__(self, aggregate: Aggregate) -> None:
        super().__init__(str(aggregate))
        self.aggregate = aggregate


class MayOverflowError(ValueError):
    """A partial sum of Spark may overflow, or be rounded, so that the result depends on the order
    of the rows."""

    def __init__(self, aggregate: Aggregate) -> None:
        super().__init__(str(aggregate))
        self.aggregate = aggregate


@dataclass(frozen=True, slots=True)
class Partial:
    """What the covered files of one group contribute.

    `values` has one value per aggregate, in their order, and `by` one per grouping column. None
    means NULL. A SUM is an unscaled value, and an APPROX_COUNT_DISTINCT its registers.
    """

    key: int
    values: tuple[Value, ...]
    by: tuple[Value, ...] = ()


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
    by: Sequence[Column] = (),
    conjuncts: Sequence[Expr] = (),
    passing: Sequence[Segment] | None = None,
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
        by: Columns by which rows are grouped, besides `keys`.
        conjuncts: The filters, for files in which only some groups or rows pass.
        passing: What is known of the rows of the files that pass; None: only what is known of all
            rows.

    Raises:
        NotTextError: The value of an aggregate is not valid UTF-8.
        MayOverflowError: The value of a SUM may depend on the order of the rows.
    """
    key_of = np.zeros(len(kept), np.intp) if keys is None else keys
    covered = np.zeros(len(kept), np.bool_)
    tables = []
    for segment in segments if not by else ():
        for ordinals, statistics in chosen(segment, matching & (num_records >= 0) & ~covered):
            sure, table = contributions(aggregates, statistics, num_records[ordinals])
            rows = np.flatnonzero(sure)
            if not len(rows):
                continue  # an aggregate may have no column
            covered[ordinals[rows]] = True
            key = pa.array(key_of[ordinals], pa.int64())
            tables.append(table.append_column("key", key).take(pa.array(rows)))
    if all(map(can_match_fully, conjuncts)):
        forms = [together(each) for each in conjuncts]
        for segment in segments:
            for ordinals, statistics in chosen(segment, kept & (num_records >= 0) & ~covered):
                known_groups = group_contributions(
                    aggregates, by, forms, statistics, num_records[ordinals]
                )
                for containers, owners, table in known_groups:
                    covered[ordinals[containers]] = True
                    key = pa.array(key_of[ordinals[owners]], pa.int64())
                    tables.append(table.append_column("key", key))
    combined = _combined(aggregates, tables, len(by))
    left = kept & ~covered
    skipped = np.zeros(len(kept), np.bool_)
    # with a FILTER, a value of a file need not be one of those that count
    is_skippable = not by and all(
        each.column is not None
        and each.function in (Function.MIN, Function.MAX)
        and each.filter is None
        for each in aggregates
    )
    if left.any() and is_skippable:
        known = Known(matching, num_records, key_of, keys is not None, combined)
        of_rows = segments if passing is None else passing
        skipped = cannot_improve(aggregates, of_rows, left, known, conjuncts)
        if raising is not None:
            skipped &= ~raising
    if covered.any():
        _require_exact(aggregates, combined, segments, left, num_records)
    return Answered(
        left & ~skipped,
        int(np.count_nonzero(covered)),
        int(np.count_nonzero(skipped)),
        _partials(aggregates, combined, by),
    )


def _require_exact(
    aggregates: Sequence[Aggregate],
    combined: pa.Table,
    segments: Sequence[Segment],
    left: Flags,
    num_records: Longs,
) -> None:
    """Raise MayOverflowError if the order of the rows may matter to a SUM.

    The rows of one group are some of all rows, so limits that hold for all rows hold for them.
    """
    for ordinal, each in enumerate(aggregates):
        if each.function is not Function.SUM:
            continue
        totals = {
            name: pc.sum(combined.column(name)).as_py() or 0
            for name in cells_to_combine(each, str(ordinal))
        }
        positive, negative = (from_limbs(f"{ordinal}.{sign}", totals) for sign in "pn")
        if may_exceed(each, positive, negative, segments, left, num_records):
            raise MayOverflowError(each)


# --- combining the contributions of files -----------------------------------------------------


def _combined(aggregates: Sequence[Aggregate], tables: Sequence[pa.Table], by: int) -> pa.Table:
    """Return a table with one row per group that has rows.

    Its columns are `key`, `rows`, `by.i` for each grouping column, and those of the aggregates: see
    `cells_to_combine`.
    """
    keys = ["key", *by_cells(by)]
    how = {"rows": "sum"}
    for ordinal, each in enumerate(aggregates):
        how |= cells_to_combine(each, str(ordinal))
    if not tables:
        none = dict.fromkeys([*how, *keys], pa.nulls(0))
        return pa.table(none | {"key": pa.array([], pa.int64())})
    # where no row counts, the type of a MIN or MAX may be null
    whole = pa.concat_tables(
        [each.select([*how, *keys]) for each in tables], promote_options="default"
    )
    grouped = whole.group_by(keys).aggregate(list(how.items()))
    named = grouped.select([*(f"{name}_{kind}" for name, kind in how.items()), *keys])
    # A group exists only if it has a row.
    named = named.rename_columns([*how, *keys])
    return named.filter(pc.greater(named.column("rows"), 0)).combine_chunks()


def _partials(
    aggregates: Sequence[Aggregate], combined: pa.Table, by: Sequence[Column]
) -> tuple[Partial, ...]:
    columns = [_values(each, str(k), combined) for k, each in enumerate(aggregates)]
    groups = [
        [value_of_cell(cell, column.type) for cell in combined.column(name).to_pylist()]
        for name, column in zip(by_cells(len(by)), by, strict=True)
    ]
    return tuple(
        Partial(key, tuple(each[row] for each in columns), tuple(each[row] for each in groups))
        for row, key in enumerate(combined.column("key").to_pylist())
    )


def _values(aggregate: Aggregate, name: str, combined: pa.Table) -> list[Value]:
    """Return the value of an aggregate for each group.

    Raises:
        NotTextError: The edge of a string column is not valid UTF-8.
    """
    if aggregate.function is Function.SUM:
        rows = combined.select(list(cells_to_combine(aggregate, name))).to_pylist()
        # SUM of no value is NULL
        return [_difference(name, row) if row[name] else None for row in rows]
    if aggregate.function is Function.DISTINCT:
        return _registers(combined.column(name))
    cells: list[Any] = combined.column(name).to_pylist()
    data_type = aggregate.type
    if aggregate.function is Function.COUNT or data_type is None:
        return cells
    try:
        return [value_of_cell(cell, data_type) for cell in cells]
    except UnicodeDecodeError as problem:
        raise NotTextError(aggregate) from problem


def _registers(lists: pa.ChunkedArray) -> list[Value]:
    if not pa.types.is_list(lists.type):
        return [b""] * len(lists)  # there are no groups
    registers: list[Value] = merged_lists(lists.combine_chunks()).to_pylist()
    return registers


def _difference(name: str, sums: dict[str, int]) -> int:
    return from_limbs(f"{name}.p", sums) - from_limbs(f"{name}.n", sums)
