"""The files of the first rows by several keys: examples, and random files compared with their rows."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.evaluation.domain.bounds import Flags
from tamis.expr.nodes import Column
from tamis.expr.types import DOUBLE, LONG, STRING
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.goals.file_keys import key_of_files, matching_files
from tamis.plan.goals.sort_keys import KeyOfFiles, SortKey, ranks
from tamis.plan.goals.ties import first_by_all

A, B, C = Column(("a",), LONG), Column(("b",), STRING), Column(("c",), DOUBLE)
ROWS = [3, 3, 5, 5, 4]


def table(**columns: list[object]) -> ArrowStatistics:
    cells = {name.replace("_of_", "."): values for name, values in columns.items()}
    return ArrowStatistics(pa.table(cells | {"num_records": ROWS}))


TIES = table(
    min_of_a=[1, 1, 1, 1, 0],
    max_of_a=[1, 1, 1, 2, 1],
    null_count_of_a=[0, 0, 0, 0, 0],
    min_of_b=["a", "d", "j", "a", "x"],
    max_of_b=["e", "i", "t", "z", "z"],
    null_count_of_b=[0, 0, 0, 0, 0],
)
NULLS = table(
    min_of_a=[1, 1, 1, 1, 1],
    max_of_a=[1, 1, 1, 1, 1],
    null_count_of_a=[0, 1, None, 0, 0],
    min_of_b=["a", "b", "c", "m", "n"],
    max_of_b=["b", "c", "d", "o", "p"],
    null_count_of_b=[0, 0, 0, 1, None],
)


def chosen(
    statistics: ArrowStatistics,
    keys: list[SortKey],
    rows: int,
    matching: Flags | None = None,
    num_records: list[int] | None = None,
) -> list[int] | None:
    count = statistics.num_containers
    kept = np.ones(count, np.bool_)
    segments = [Segment(slice(0, count), statistics)]

    def key_of(key: SortKey, files: Flags) -> KeyOfFiles | None:
        return key_of_files(key, [], segments, files)

    first = key_of(keys[0], kept)
    assert first is not None
    passing = matching_files(keys[0], first, [], segments, kept)
    if matching is not None:
        passing &= matching
    found = first_by_all(rows, keys, key_of, first, passing, np.array(num_records or ROWS), kept)
    return None if found is None else np.flatnonzero(found.files).tolist()


def by(*keys: tuple[Column, str]) -> list[SortKey]:
    """Return the keys. An order has the letters d (DESC) and f (NULLS FIRST)."""
    last = len(keys) - 1
    return [
        SortKey(column, "d" in order, "f" in order, place == last)
        for place, (column, order) in enumerate(keys)
    ]


# Statistics, keys, rows wanted, files.
TABLE = [
    # File 3 may hold a 1 with b = "a", and file 4 may hold a 0.
    (TIES, by((A, ""), (B, "")), 3, [0, 1, 3, 4]),
    (TIES, by((A, ""), (B, "")), 4, [0, 1, 3, 4]),
    (TIES, by((A, ""), (B, "")), 7, [0, 1, 2, 3, 4]),
    (TIES, by((A, ""), (B, "d")), 3, [2, 3, 4]),
    (TIES, by((A, "d"), (B, "d")), 3, [2, 3, 4]),
    # By one key, all files with ties stay if another key follows.
    (TIES, [SortKey(A, False, False, False)], 3, [0, 1, 2, 3, 4]),
    # A file that may hold a NULL of the first key does not count, and stays if NULL comes first.
    (NULLS, by((A, ""), (B, "")), 3, [0]),
    (NULLS, by((A, "f"), (B, "")), 3, [0, 1, 2]),
    # NULLs of the second key come first: file 3 has one, which is enough, and file 4 may.
    (NULLS, by((A, ""), (B, "f")), 1, [3]),
    (NULLS, by((A, ""), (B, "f")), 3, [0, 3, 4]),
    (NULLS, [*by((A, ""), (B, "f"))[:1], SortKey(B, False, True, False)], 3, [0, 1, 3, 4]),
]


@pytest.mark.parametrize(("statistics", "keys", "rows", "files"), TABLE)
def test_later_keys_decide_between_ties(
    statistics: ArrowStatistics, keys: list[SortKey], rows: int, files: list[int]
) -> None:
    assert chosen(statistics, keys, rows) == files


def test_files_that_do_not_match_fully_are_not_counted() -> None:
    keys = by((A, ""), (B, ""))
    matching = np.array([False, True, True, True, True])
    # The rows of file 0 may all fail the filter, and those of file 1 reach up to "i".
    assert chosen(TIES, keys, 3, matching) == [0, 1, 3, 4]
    assert chosen(NULLS, keys, 3, np.array([False, False, False, True, True])) == [0, 1, 2, 3, 4]


VALUES = [None, 0, 0, 1, 2]
TEXTS = [None, "a", "b", "c", "c"]
DOUBLES = [None, -0.0, 0.0, 1.0, float("nan")]


def sort_value(value: object, key: SortKey) -> tuple[int, float | str]:
    """Return a value that sorts as Spark sorts."""
    if value is None:
        return (-2 if key.nulls_first else 2, 0.0)
    if isinstance(value, float) and value != value:
        return (-1 if key.descending else 1, 0.0)
    if isinstance(value, str):
        place = "abc".index(value)
        return (0, -place if key.descending else place)
    assert isinstance(value, int | float)
    return (0, -value if key.descending else value + 0.0)


def bounds(name: str, values: list[object]) -> dict[str, object]:
    known = [each for each in values if each is not None and each == each]
    nan = [each for each in values if each is not None and each != each]
    cells: dict[str, object] = {
        f"min.{name}": min(known, default=None),  # type: ignore[type-var]
        f"max.{name}": max(known, default=None),  # type: ignore[type-var]
        f"null_count.{name}": values.count(None),
    }
    if name == "c":
        cells["nan_count.c"] = len(nan)
    return cells


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_first_rows_of_random_files_are_kept(seed: int) -> None:
    """Some choice of the first rows lies in the files that are kept, in order of all keys."""
    random = Random(seed)
    pools = {"a": VALUES, "b": TEXTS, "c": DOUBLES}
    narrow = {
        name: random.sample(pool, random.choice([1, 1, 2, 5])) for name, pool in pools.items()
    }
    files = [
        [
            tuple(random.choice(random.choice([narrow, pools])[n]) for n in "abc")
            for _ in range(size)
        ]
        for size in random.choices([1, 1, 2, 4], k=random.choice([2, 4, 6]))
    ]
    cells = []
    for rows in files:
        of_file: dict[str, object] = {"num_records": len(rows)}
        for place, name in enumerate("abc"):
            of_file |= bounds(name, [row[place] for row in rows])
        cells.append(of_file)
    types = {"a": pa.int64(), "b": pa.string(), "c": pa.float64()}
    statistics = ArrowStatistics(
        pa.table(
            {
                name: pa.array(
                    [each[name] for each in cells],
                    types[name[-1]] if name.startswith(("min", "max")) else pa.int64(),
                )
                for name in cells[0]
            }
        )
    )
    columns = random.sample([(A, 0), (B, 1), (C, 2)], random.choice([2, 3]))
    keys = by(*((column, random.choice(["", "d", "f", "df"])) for column, _ in columns))
    wanted = random.choice([1, 2, 3, 5])
    kept = chosen(statistics, keys, wanted, num_records=[len(rows) for rows in files])
    if kept is None:
        return

    def place(row: tuple[object, ...]) -> list[tuple[int, float | str]]:
        return [sort_value(row[at], key) for (_, at), key in zip(columns, keys, strict=True)]

    everything = sorted(place(row) for rows in files for row in rows)
    read = sorted(place(row) for file in kept for row in files[file])
    assert read[:wanted] == everything[:wanted]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    "values",
    [[3, 1, 3, 2], [5], [], ["b", None, "a", "b", None], [None, None], [0.0, -0.0, 1.5]],
)
def test_ranks_are_those_of_the_sorted_values(values: list[object], descending: bool) -> None:
    is_text = any(isinstance(each, str) or each is None for each in values)
    edge = pa.array([None if v is None else str(v).encode() for v in values], pa.large_binary())
    known = sorted({v for v in values if v is not None}, reverse=descending)  # type: ignore[type-var]
    expected = [len(known) if v is None else known.index(v) for v in values]
    assert ranks(edge if is_text else np.array(values), descending).tolist() == expected
