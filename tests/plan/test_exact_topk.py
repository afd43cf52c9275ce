"""The files of the first rows of an ORDER BY, compared with a reference that tries every position.

The reference describes the rows of a file by what they can be: NULL, a value within the bounds, or
NaN. It tries every value as the position at or before which enough rows are certain to be. A row is
certain to be there if everything that it can be is there; in addition, one row is at the near edge
if that edge is a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.bounds import Flags
from tamis.expr.nodes import Column, Compare, Comparison, Expr, IsNull, Literal, Not, Or
from tamis.expr.types import DOUBLE, LONG, STRING, DataType, decimal
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.goals.file_keys import key_of_files, matching_files
from tamis.plan.goals.sort_keys import SortKey
from tamis.plan.goals.topk import boundary, first_files

WIDE = decimal(30, 0)
ARROW = {LONG: pa.int64(), DOUBLE: pa.float64(), STRING: pa.string(), WIDE: pa.decimal128(30, 0)}
INFINITE = 1000
Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class File:
    """What is known about the rows of a file. None: not known. `nan`: whether a row may be NaN."""

    low: int | None
    high: int | None
    rows: int | None
    nulls: int | None
    attained: bool
    nan: bool | None = False
    has_values: bool = True
    matching: bool = True
    covered: bool = True

    def can_be_null(self) -> bool:
        return self.nulls is None or self.nulls > 0


def as_cell(data_type: DataType, value: int | None) -> Any:
    return chr(ord("a") + value) if data_type == STRING and value is not None else value


def statistics(data_type: DataType, files: Sequence[File]) -> ArrowStatistics:
    cells = {
        "num_records": pa.array([each.rows for each in files], pa.int64()),
        "null_count.c": pa.array([each.nulls for each in files], pa.int64()),
        "attained.c": pa.array([each.attained for each in files]),
        "min.other": pa.array([1 if each.matching else 0 for each in files]),
        "max.other": pa.array([1] * len(files)),
        "null_count.other": pa.array([0] * len(files)),
    }
    for name, values in (("min", [e.low for e in files]), ("max", [e.high for e in files])):
        cells[f"{name}.c"] = pa.array([as_cell(data_type, v) for v in values], ARROW[data_type])
    if data_type == DOUBLE:
        counts = [None if each.nan is None else int(each.nan) for each in files]
        cells["nan_count.c"] = pa.array(counts, pa.int64())
    return ArrowStatistics(pa.table(cells))


def random_files(random: Random, data_type: DataType) -> list[File]:
    files = []
    for _ in range(random.choice([1, 3, 5])):
        nulls, values = random.choice([0, 0, 1, 3]), random.choice([0, 1, 2, 2, 4, 6])
        low = random.randint(0, 12)
        high = low if values == 1 else low + random.randint(0, 6)
        edges = (low, high) if values else (None, None)
        attained = random.random() < 0.6
        if nulls + values:
            file = File(*edges, nulls + values, nulls, attained, has_values=bool(values))
            files.append(_with_gaps(random, file, data_type) if random.random() < 0.4 else file)
    return files or [File(1, 2, 2, 0, True)]


def _with_gaps(random: Random, file: File, data_type: DataType) -> File:
    """Return the file with one thing less known about it."""
    kind = random.choice(["low", "high", "rows", "nulls", "nan", "covered", "matching"])
    if kind in ("low", "high", "nulls") and file.has_values:
        known = file.attained and kind != "nulls"
        file = replace(file, **{kind: None, "attained": known})
    elif kind == "rows" and file.has_values:
        file = replace(file, rows=None)
    elif kind == "nan" and data_type == DOUBLE and file.has_values and (file.rows or 0) > 1:
        file = replace(file, nan=random.choice([True, None]), attained=False)
    elif kind in ("covered", "matching"):
        file = replace(file, **{kind: False})
    return file


def null_position(key: SortKey) -> Position:
    return (0 if key.nulls_first else 3), 0


def nan_position(key: SortKey) -> Position:
    return (1 if key.descending else 2), INFINITE + 1


def value_position(key: SortKey, value: int) -> Position:
    """Return the sort position of a value. Less is earlier."""
    return (2 if key.descending else 1), -value if key.descending else value


def ends(key: SortKey, file: File) -> tuple[Position, Position]:
    """Return the near and the far end of the file's values."""
    low = value_position(key, -INFINITE if file.low is None else file.low)
    high = value_position(key, INFINITE if file.high is None else file.high)
    return (high, low) if key.descending else (low, high)


class Filter:
    """A filter over the files, with the rows that pass it."""

    def __init__(self, name: str, data_type: DataType) -> None:
        column = Column(("c",), data_type)
        other = Compare(Comparison.EQUAL, Column(("other",), LONG), Literal(1, LONG))
        below = Compare(Comparison.LESS, column, Literal(_greatest(data_type), data_type))
        self.conjuncts: list[Expr] = {
            "none": [],
            "other": [other],
            "not null": [Not(IsNull(column))],
            "below": [below],
            "or": [Or((below, other))],
        }[name]
        self.name = name

    def passes_null(self) -> bool:
        return self.name in ("none", "other", "or")

    def passes_nan(self) -> bool:
        return self.name != "below"

    def all_match(self, file: File) -> bool:
        """Return whether every row passes whose key is not NULL."""
        if self.name == "other":
            return file.matching
        if self.name == "or":
            # `c < …` is true for no NULL and no NaN, so the other column decides for these.
            below = file.high is not None and file.nan is False and not file.can_be_null()
            return file.matching or below
        return self.name != "below" or not (
            file.has_values and (file.high is None or file.nan is not False)
        )


def certain_rows_by(key: SortKey, file: File, at: Position, where: Filter, zero: bool) -> int:
    """Return how many rows of a file certainly pass and are at or before a position."""
    if file.rows is None or not file.covered or not where.all_match(file):
        return 0
    near, far = ends(key, file)
    others_by = not file.has_values or far <= at
    if file.nan is not False and where.passes_nan():
        others_by &= nan_position(key) <= at
    nulls_by = null_position(key) <= at
    if file.nulls is None:
        # Every row can be NULL.
        return file.rows if where.passes_null() and others_by and nulls_by else 0
    values = file.rows - file.nulls
    # A bound does not show the sign of a zero.
    near_value = file.high if key.descending else file.low
    is_value = file.attained and near_value is not None and not (zero and near_value == 0)
    by = values if others_by else min(values, int(near <= at and is_value))
    return by + (file.nulls if nulls_by and where.passes_null() else 0)


def first_position(key: SortKey, file: File, where: Filter) -> Position:
    """Return the earliest possible position of a row of the file that passes."""
    positions = [(4, 0)]
    if file.can_be_null() and where.passes_null():
        positions.append(null_position(key))
    if file.has_values:
        positions.append(ends(key, file)[0])
    if file.nan is not False and where.passes_nan():
        positions.append(nan_position(key))
    return min(positions)


def first_enough(
    key: SortKey, files: list[File], count: int, where: Filter, data_type: DataType
) -> Position | None:
    """Return the first position that has enough rows at or before it. None: there is none."""
    every = {value_position(key, value) for value in range(30)}
    every |= {null_position(key), nan_position(key)}
    if data_type in (LONG, DOUBLE):  # the ends of the type are values
        every |= {value_position(key, value) for value in (-INFINITE, INFINITE)}
    for at in sorted(every):
        zero = data_type == DOUBLE
        if sum(certain_rows_by(key, file, at, where, zero) for file in files) >= count:
            return at
    return None


@pytest.mark.parametrize("data_type", ARROW, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_only_needed_files_are_read(data_type: DataType, seed: int) -> None:
    random = Random(seed)
    column = Column(("c",), data_type)
    bounded = skipped = 0
    for _ in range(80):
        files = random_files(random, data_type)
        where = Filter(
            random.choice(["none", "none", "other", "not null", "below", "or"]), data_type
        )
        segments = _segments(random, files, statistics(data_type, files))
        key = SortKey(column, random.random() < 0.5, random.random() < 0.5, random.random() < 0.4)
        count = random.choice([1, 2, 3, 5, 8])
        kept = np.ones(len(files), np.bool_)
        text = (key, count, files, where.name)
        last, chosen = _chosen(key, where.conjuncts, segments, files, count, kept)
        expected = first_enough(key, files, count, where, data_type)
        assert (last is None) == (expected is None), text
        if last is None or expected is None:
            continue
        bounded += 1
        needed = {
            ordinal
            for ordinal, file in enumerate(files)
            if not file.covered or first_position(key, file, where) <= expected
        }
        if not key.only:
            assert chosen == needed, text
        else:
            assert chosen <= needed, text
            before = {
                ordinal
                for ordinal, file in enumerate(files)
                if not file.covered or first_position(key, file, where) < expected
            }
            assert before <= chosen, text
            zero = data_type == DOUBLE
            certain = [certain_rows_by(key, files[o], expected, where, zero) for o in chosen]
            assert sum(certain) >= count, text
            if expected in (null_position(key), nan_position(key)):
                continue
            # No file is read only for more rows than are needed.
            spare = [rows for o, rows in zip(chosen, certain, strict=True) if o not in before]
            assert not spare or sum(certain) - min(spare) < count, text
        skipped += len(chosen) < len(files)
    assert bounded > 30
    assert skipped > 10


def _segments(random: Random, files: list[File], table: ArrowStatistics) -> list[Segment]:
    covered = np.flatnonzero([each.covered for each in files])
    if random.random() < 0.3 and len(covered) > 1:
        cut = random.randint(1, len(covered) - 1)
        if len(covered) == len(files):
            parts = (slice(0, cut), slice(cut, len(files)))
            return [Segment(part, table.slice(part.start, part.stop)) for part in parts]
        return [Segment(part, table.take(part)) for part in (covered[:cut], covered[cut:])]
    if len(covered) == len(files):
        return [Segment(slice(0, len(files)), table)]
    return [Segment(covered, table.take(covered))]


def _chosen(
    key: SortKey,
    conjuncts: list[Expr],
    segments: list[Segment],
    files: Sequence[File],
    count: int,
    kept: Flags,
) -> tuple[Any, set[int]]:
    """Return the boundary, and the files that are chosen by it."""
    keys = key_of_files(key, conjuncts, segments, kept)
    if keys is None:
        return None, set()
    matching = matching_files(key, keys, conjuncts, segments, kept)
    rows = np.array([-1 if each.rows is None else each.rows for each in files])
    last = boundary(count, key, keys, matching, rows)
    if last is None:
        return None, set()
    return last, set(np.flatnonzero(first_files(key, keys, last, kept)).tolist())


def _greatest(data_type: DataType) -> Any:
    """Return a constant above all values of the files."""
    if data_type == STRING:
        return "~"
    return {DOUBLE: float(INFINITE), WIDE: Decimal(INFINITE)}.get(data_type, INFINITE)


@pytest.mark.parametrize("data_type", [LONG, DOUBLE], ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_least_value_of_the_type_is_sorted_correctly(data_type: DataType, descending: bool) -> None:
    """The least integer has no negation."""
    least: Any = -(1 << 63) if data_type == LONG else -np.inf
    files = [File(least, least, 3, 0, True), File(5, 5, 3, 0, True), File(9, 9, 3, 0, True)]
    table = statistics(data_type, files)
    key = SortKey(Column(("c",), data_type), descending, False, False)
    segments, kept = [Segment(slice(0, 3), table)], np.ones(3, np.bool_)
    keys = key_of_files(key, [], segments, kept)
    assert keys is not None
    for count, places in ((1, 1), (3, 1), (4, 2), (7, 3)):
        last = boundary(count, key, keys, kept, np.array([3, 3, 3]))
        assert last is not None
        chosen = np.flatnonzero(first_files(key, keys, last, kept)).tolist()
        assert chosen == ([2, 1, 0][:places][::-1] if descending else [0, 1, 2][:places])
