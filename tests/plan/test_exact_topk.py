"""The files of the first rows of an ORDER BY, against a reference that goes through every place.

Files hold whole numbers and NULLs whose counts are known. The reference tries every value as the
place that enough rows surely stand at or before: all rows of a file stand at its far edge or
before it, one of them at its near edge where that is a value.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from tamis.expr.nodes import Column
from tamis.expr.types import DOUBLE, LONG, STRING, DataType, decimal
from tamis.files.table import ArrowStatistics
from tamis.plan.goals.file_keys import key_of_files, matching_files
from tamis.plan.goals.sort_keys import SortKey
from tamis.plan.goals.topk import boundary, first_files
from tamis.plan.scan import Segment

WIDE = decimal(30, 0)
ARROW = {LONG: pa.int64(), DOUBLE: pa.float64(), STRING: pa.string(), WIDE: pa.decimal128(30, 0)}


class File(NamedTuple):
    low: int | None
    high: int | None
    rows: int
    nulls: int
    attained: bool


def spelled(data_type: DataType, value: int | None) -> Any:
    return chr(ord("a") + value) if data_type == STRING and value is not None else value


def statistics(data_type: DataType, files: list[File]) -> ArrowStatistics:
    cells = {
        "num_records": pa.array([each.rows for each in files]),
        "null_count.c": pa.array([each.nulls for each in files]),
        "attained.c": pa.array([each.attained for each in files]),
    }
    for name, values in (("min", [e.low for e in files]), ("max", [e.high for e in files])):
        cells[f"{name}.c"] = pa.array([spelled(data_type, v) for v in values], ARROW[data_type])
    if data_type == DOUBLE:
        cells["nan_count.c"] = pa.array([0] * len(files))
    return ArrowStatistics(pa.table(cells))


def random_files(random: Random) -> list[File]:
    files = []
    for _ in range(random.choice([1, 3, 5])):
        nulls, values = random.choice([0, 0, 1, 3]), random.choice([0, 1, 2, 2, 4, 6])
        low = random.randint(0, 12)
        high = low if values == 1 else low + random.randint(0, 6)
        held = (low, high) if values else (None, None)
        if nulls + values:
            files.append(File(*held, nulls + values, nulls, random.random() < 0.6))
    return files or [File(1, 2, 2, 0, True)]


def place(key: SortKey, value: int | None) -> tuple[int, int]:
    """Where a value stands; less is earlier."""
    if value is None:
        return (0 if key.nulls_first else 2), 0
    return 1, -value if key.descending else value


def surely_by(key: SortKey, file: File, at: tuple[int, int], data_type: DataType) -> int:
    """How many rows of a file surely stand at a place or before it."""
    values = file.rows - file.nulls
    by = file.nulls if place(key, None) <= at else 0
    if values:
        ends = (file.high, file.low) if key.descending else (file.low, file.high)
        near, far = (place(key, each) for each in ends)
        # Which of the two zeros an edge is, no bound says.
        is_value = file.attained and (data_type != DOUBLE or ends[0] != 0)
        by += values if far <= at else min(values, int(near <= at and is_value))
    return by


def first_place(key: SortKey, file: File) -> tuple[int, int]:
    """Where the first row of a file may stand."""
    found = [place(key, None)] if file.nulls else []
    if file.rows > file.nulls:
        found.append(place(key, file.high if key.descending else file.low))
    return min(found)


def needed(key: SortKey, files: list[File], count: int, data_type: DataType) -> set[int] | None:
    """Files that may hold one of the first rows, where another key follows; None: all."""
    every = {place(key, value) for value in range(30)} | {place(key, None)}
    enough = [
        at
        for at in sorted(every)
        if sum(surely_by(key, file, at, data_type) for file in files) >= count
    ]
    if not enough:
        return None
    return {o for o, file in enumerate(files) if first_place(key, file) <= enough[0]}


@pytest.mark.parametrize("data_type", ARROW, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_no_file_is_read_in_vain(data_type: DataType, seed: int) -> None:
    random = Random(seed)
    column = Column(("c",), data_type)
    known = skipped = 0
    for _ in range(60):
        files = random_files(random)
        held = statistics(data_type, files)
        segments = [Segment(slice(0, len(files)), held)]
        if random.random() < 0.3 and len(files) > 1:
            cut = random.randint(1, len(files) - 1)
            segments = [
                Segment(slice(0, cut), held.slice(0, cut)),
                Segment(slice(cut, len(files)), held.slice(cut, len(files))),
            ]
        key = SortKey(column, random.random() < 0.5, random.random() < 0.5, random.random() < 0.4)
        count = random.choice([1, 2, 3, 5, 8])
        kept = np.ones(len(files), np.bool_)
        of = key_of_files(key, [], segments, kept)
        assert of is not None
        matching = matching_files(key, of, [], segments, kept)
        assert matching.all()
        rows = np.array([each.rows for each in files])
        found = boundary(count, key, of, matching, rows)
        expected = needed(key, files, count, data_type)
        text = (key, count, files)
        assert (found is None) == (expected is None), text
        if found is None or expected is None:
            continue
        known += 1
        chosen = set(np.flatnonzero(first_files(key, of, found, kept)).tolist())
        if not key.only:
            assert chosen == expected, text
        else:
            assert chosen <= expected, text
            at = (
                place(key, _value(found.value, data_type))
                if found.value is not None
                else place(key, None)
            )
            before = {o for o, file in enumerate(files) if first_place(key, file) < at}
            assert before <= chosen, text
            assert sum(surely_by(key, files[o], at, data_type) for o in chosen) >= count, text
        skipped += len(chosen) < len(files)
    assert known > 30
    assert skipped > 10


def _value(edge: Any, data_type: DataType) -> int:
    if data_type == STRING:
        return edge.as_py()[0] - ord("a")  # type: ignore[no-any-return]
    return int(edge.as_py() if isinstance(edge, pa.Scalar) else edge)


@pytest.mark.parametrize("data_type", [LONG, DOUBLE], ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_the_least_value_of_the_type_stands_last(data_type: DataType, descending: bool) -> None:
    """It has no negative among whole numbers."""
    least: Any = -(1 << 63) if data_type == LONG else -np.inf
    files = [File(least, least, 3, 0, True), File(5, 5, 3, 0, True), File(9, 9, 3, 0, True)]
    held = statistics(data_type, files)
    key = SortKey(Column(("c",), data_type), descending, False)
    segments, kept = [Segment(slice(0, 3), held)], np.ones(3, np.bool_)
    of = key_of_files(key, [], segments, kept)
    assert of is not None
    for count, places in ((1, 1), (3, 1), (4, 2), (7, 3)):
        found = boundary(count, key, of, kept, np.array([3, 3, 3]))
        assert found is not None
        chosen = np.flatnonzero(first_files(key, of, found, kept)).tolist()
        assert chosen == ([2, 1, 0][:places][::-1] if descending else [0, 1, 2][:places])
