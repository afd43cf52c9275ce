"""The files of the first rows of an ORDER BY, compared with a reference that tries every position.

Files have whole numbers and a known count of NULLs. The reference tries every value as the position
at or before which enough rows are certain to be: all rows of a file are at or before its far edge,
and one row is at its near edge if that edge is a value.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from tamis.expr.nodes import Column
from tamis.expr.types import DOUBLE, LONG, STRING, DataType, decimal
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.goals.file_keys import key_of_files, matching_files
from tamis.plan.goals.sort_keys import SortKey
from tamis.plan.goals.topk import boundary, first_files

WIDE = decimal(30, 0)
ARROW = {LONG: pa.int64(), DOUBLE: pa.float64(), STRING: pa.string(), WIDE: pa.decimal128(30, 0)}


class File(NamedTuple):
    low: int | None
    high: int | None
    rows: int
    nulls: int
    attained: bool


def as_cell(data_type: DataType, value: int | None) -> Any:
    return chr(ord("a") + value) if data_type == STRING and value is not None else value


def statistics(data_type: DataType, files: list[File]) -> ArrowStatistics:
    cells = {
        "num_records": pa.array([each.rows for each in files]),
        "null_count.c": pa.array([each.nulls for each in files]),
        "attained.c": pa.array([each.attained for each in files]),
    }
    for name, values in (("min", [e.low for e in files]), ("max", [e.high for e in files])):
        cells[f"{name}.c"] = pa.array([as_cell(data_type, v) for v in values], ARROW[data_type])
    if data_type == DOUBLE:
        cells["nan_count.c"] = pa.array([0] * len(files))
    return ArrowStatistics(pa.table(cells))


def random_files(random: Random) -> list[File]:
    files = []
    for _ in range(random.choice([1, 3, 5])):
        nulls, values = random.choice([0, 0, 1, 3]), random.choice([0, 1, 2, 2, 4, 6])
        low = random.randint(0, 12)
        high = low if values == 1 else low + random.randint(0, 6)
        edges = (low, high) if values else (None, None)
        if nulls + values:
            files.append(File(*edges, nulls + values, nulls, random.random() < 0.6))
    return files or [File(1, 2, 2, 0, True)]


def position(key: SortKey, value: int | None) -> tuple[int, int]:
    """Return the sort position of a value. Less is earlier."""
    if value is None:
        return (0 if key.nulls_first else 2), 0
    return 1, -value if key.descending else value


def certain_rows_by(key: SortKey, file: File, at: tuple[int, int], data_type: DataType) -> int:
    """Return how many rows of a file are certain to be at or before a position."""
    values = file.rows - file.nulls
    by = file.nulls if position(key, None) <= at else 0
    if values:
        ends = (file.high, file.low) if key.descending else (file.low, file.high)
        near, far = (position(key, each) for each in ends)
        # A bound does not show the sign of a zero.
        is_value = file.attained and (data_type != DOUBLE or ends[0] != 0)
        by += values if far <= at else min(values, int(near <= at and is_value))
    return by


def first_position(key: SortKey, file: File) -> tuple[int, int]:
    """Return the earliest possible position of a row of the file."""
    positions = [position(key, None)] if file.nulls else []
    if file.rows > file.nulls:
        positions.append(position(key, file.high if key.descending else file.low))
    return min(positions)


def needed(key: SortKey, files: list[File], count: int, data_type: DataType) -> set[int] | None:
    """Return the files that may have one of the first rows, with a further key. None: all files."""
    every = {position(key, value) for value in range(30)} | {position(key, None)}
    enough = [
        at
        for at in sorted(every)
        if sum(certain_rows_by(key, file, at, data_type) for file in files) >= count
    ]
    if not enough:
        return None
    return {o for o, file in enumerate(files) if first_position(key, file) <= enough[0]}


@pytest.mark.parametrize("data_type", ARROW, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_only_needed_files_are_read(data_type: DataType, seed: int) -> None:
    random = Random(seed)
    column = Column(("c",), data_type)
    bounded = skipped = 0
    for _ in range(60):
        files = random_files(random)
        table = statistics(data_type, files)
        segments = [Segment(slice(0, len(files)), table)]
        if random.random() < 0.3 and len(files) > 1:
            cut = random.randint(1, len(files) - 1)
            segments = [
                Segment(slice(0, cut), table.slice(0, cut)),
                Segment(slice(cut, len(files)), table.slice(cut, len(files))),
            ]
        key = SortKey(column, random.random() < 0.5, random.random() < 0.5, random.random() < 0.4)
        count = random.choice([1, 2, 3, 5, 8])
        kept = np.ones(len(files), np.bool_)
        keys = key_of_files(key, [], segments, kept)
        assert keys is not None
        matching = matching_files(key, keys, [], segments, kept)
        assert matching.all()
        rows = np.array([each.rows for each in files])
        last = boundary(count, key, keys, matching, rows)
        expected = needed(key, files, count, data_type)
        text = (key, count, files)
        assert (last is None) == (expected is None), text
        if last is None or expected is None:
            continue
        bounded += 1
        chosen = set(np.flatnonzero(first_files(key, keys, last, kept)).tolist())
        if not key.only:
            assert chosen == expected, text
        else:
            assert chosen <= expected, text
            at = (
                position(key, _value(last.value, data_type))
                if last.value is not None
                else position(key, None)
            )
            before = {o for o, file in enumerate(files) if first_position(key, file) < at}
            assert before <= chosen, text
            assert sum(certain_rows_by(key, files[o], at, data_type) for o in chosen) >= count, text
        skipped += len(chosen) < len(files)
    assert bounded > 30
    assert skipped > 10


def _value(edge: Any, data_type: DataType) -> int:
    if data_type == STRING:
        return edge.as_py()[0] - ord("a")  # type: ignore[no-any-return]
    return int(edge.as_py() if isinstance(edge, pa.Scalar) else edge)


@pytest.mark.parametrize("data_type", [LONG, DOUBLE], ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_least_value_of_the_type_is_sorted_correctly(data_type: DataType, descending: bool) -> None:
    """The least integer has no negation."""
    least: Any = -(1 << 63) if data_type == LONG else -np.inf
    files = [File(least, least, 3, 0, True), File(5, 5, 3, 0, True), File(9, 9, 3, 0, True)]
    table = statistics(data_type, files)
    key = SortKey(Column(("c",), data_type), descending, False)
    segments, kept = [Segment(slice(0, 3), table)], np.ones(3, np.bool_)
    keys = key_of_files(key, [], segments, kept)
    assert keys is not None
    for count, places in ((1, 1), (3, 1), (4, 2), (7, 3)):
        last = boundary(count, key, keys, kept, np.array([3, 3, 3]))
        assert last is not None
        chosen = np.flatnonzero(first_files(key, keys, last, kept)).tolist()
        assert chosen == ([2, 1, 0][:places][::-1] if descending else [0, 1, 2][:places])
