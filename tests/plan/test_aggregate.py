"""COUNT, MIN and MAX from statistics plus the files left to read equal the results of all rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation.domain.exact_counts import Certain
from tamis.expr.nodes import Column
from tamis.expr.types import BOOLEAN, DOUBLE, FLOAT, LONG, STRING, DataType, decimal
from tamis.files.exact_counts import certain_columns
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.goals.aggregate import Answered, answer
from tamis.plan.goals.aggregate_functions import Aggregate, Function
from tests.differential.generate import POOLS
from tests.differential.rows import order_key

C = Column(("c",), LONG)
NAN = math.nan


class Files(ArrowStatistics):
    """Statistics of an index in a table: see `certain_columns`."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__(table)
        self.table = table

    def certain(self, column: Column) -> Certain:
        kinds = ("min", "max", "null_count", "nan_count", "attained")
        names = {kind: f"{kind}.{column.path[0]}" for kind in kinds}
        names_present = {k: n for k, n in names.items() if n in self.table.column_names}
        columns = {
            kind: self.table.column(name).combine_chunks() for kind, name in names_present.items()
        }
        records = self.table.column("num_records").combine_chunks()
        return certain_columns(column.type, columns, records)


def answer_of(
    statistics: dict[str, Any],
    functions: str,
    matching: list[bool],
    data_type: DataType = LONG,
    keys: list[int] | None = None,
) -> Answered:
    files = len(statistics["num_records"])
    kinds = {"num_records": pa.int64(), "null_count.c": pa.int64(), "nan_count.c": pa.int64()}
    bound = (
        pa.decimal128(data_type.precision, data_type.scale)
        if data_type.is_decimal
        else POOLS[data_type][1]
    )
    kinds |= {"min.c": bound, "max.c": bound, "attained.c": pa.bool_()}
    table = pa.table({n: pa.array(cells, kinds[n]) for n, cells in statistics.items()})
    column = Column(("c",), data_type)
    return answer(
        [Aggregate(Function(f), column) if f != "*" else ROWS for f in functions.split()],
        [Segment(slice(0, files), Files(table))],
        np.ones(files, np.bool_),
        np.array(matching),
        np.array([-1 if n is None else n for n in statistics["num_records"]], np.int64),
        None if keys is None else np.array(keys),
    )


ROWS = Aggregate(Function.COUNT, None)

# Functions | type | bounds, NULLs, NaN, rows of one file | its partial result. None: the file is
# read.
ONE_FILE = [
    ("*", LONG, {"num_records": [10]}, (10,)),
    ("*", LONG, {"num_records": [0]}, ()),
    ("*", LONG, {"num_records": [None]}, None),
    ("count", LONG, {"num_records": [10], "null_count.c": [3]}, (7,)),
    ("count", LONG, {"num_records": [10], "null_count.c": [10]}, (0,)),
    ("count", LONG, {"num_records": [10], "null_count.c": [None]}, None),
    ("count", LONG, {"num_records": [10], "null_count.c": [11]}, None),
    ("count", LONG, {"num_records": [10], "null_count.c": [-1]}, None),
    # More NULLs than the bounds allow, and bounds in the wrong order: the statistics are not used.
    (
        "count",
        LONG,
        {"num_records": [9], "null_count.c": [9], "min.c": [1], "max.c": [1]},
        None,
    ),
    (
        "* count",
        LONG,
        {"num_records": [9], "null_count.c": [0], "min.c": [2], "max.c": [1]},
        None,
    ),
    ("min max", LONG, {"num_records": [9], "min.c": [3], "max.c": [7]}, (3, 7)),
    ("max", LONG, {"num_records": [9], "min.c": [None], "max.c": [7]}, (7,)),
    ("min", LONG, {"num_records": [9], "min.c": [None], "max.c": [7]}, None),
    ("min max", LONG, {"num_records": [9], "null_count.c": [9]}, (None, None)),
    ("min", LONG, {"num_records": [9], "min.c": [8], "max.c": [7]}, None),
    ("min", BOOLEAN, {"num_records": [9], "min.c": [False], "max.c": [True]}, (False,)),
    ("max", BOOLEAN, {"num_records": [9], "min.c": [False], "max.c": [True]}, (True,)),
    (
        "min max",
        decimal(9, 2),
        {"num_records": [9], "min.c": [Decimal("1.50")], "max.c": [Decimal("12.00")]},
        (Decimal("1.50"), Decimal("12.00")),
    ),
    (
        "min max",
        decimal(9, 0),
        {"num_records": [9], "min.c": [Decimal(15)], "max.c": [Decimal(120)]},
        (Decimal(15), Decimal(120)),
    ),
    (
        "min",
        decimal(30, 0),
        {"num_records": [9], "min.c": [Decimal(10**25)], "max.c": [Decimal(10**26)]},
        (Decimal(10**25),),
    ),
    # A bound of bytes may be truncated.
    ("min", STRING, {"num_records": [9], "min.c": ["a"], "max.c": ["b"]}, None),
    (
        "max",
        STRING,
        {"num_records": [9], "min.c": ["a"], "max.c": ["b"], "attained.c": [True]},
        ("b",),
    ),
    (
        "max",
        STRING,
        {"num_records": [9], "min.c": ["a"], "max.c": ["b"], "attained.c": [None]},
        None,
    ),
    # NaN is the greatest value and is outside the bounds. Bounds do not show the sign of a zero.
    ("max", DOUBLE, {"num_records": [9], "min.c": [1.5], "max.c": [2.5]}, None),
    ("min", DOUBLE, {"num_records": [9], "min.c": [1.5], "max.c": [2.5]}, None),
    (
        "min max",
        DOUBLE,
        {"num_records": [9], "min.c": [1.5], "max.c": [2.5], "nan_count.c": [0]},
        (1.5, 2.5),
    ),
    ("max", FLOAT, {"num_records": [9], "min.c": [1.5], "max.c": [2.5], "nan_count.c": [1]}, None),
    ("max", FLOAT, {"num_records": [9], "min.c": [-1], "max.c": [-0.0], "nan_count.c": [0]}, None),
    ("min", FLOAT, {"num_records": [9], "min.c": [0.0], "max.c": [1.0], "nan_count.c": [0]}, None),
    (
        "max",
        DOUBLE,
        {"num_records": [9], "min.c": [0.0], "max.c": [math.inf], "nan_count.c": [0]},
        (math.inf,),
    ),
]


@pytest.mark.parametrize(("functions", "data_type", "statistics", "expected"), ONE_FILE)
def test_partial_result_of_one_file(
    functions: str, data_type: DataType, statistics: dict[str, Any], expected: tuple[Any] | None
) -> None:
    result = answer_of(statistics, functions, [True], data_type)
    if expected is None:
        assert (result.covered, result.left.tolist()) == (0, [True])
        return
    assert (result.covered, result.left.tolist()) == (1, [False])
    assert [each.values for each in result.partials] == ([expected] if expected else [])
    for each in result.partials:
        assert [*map(type, each.values)] == [*map(type, expected)]
    # No row may be counted if some row may fail the filter.
    assert answer_of(statistics, functions, [False], data_type).covered == 0


# Bounds of four files | the fully matching ones | the files MIN reads | the files MAX reads.
SKIPS = [
    ([(0, 9), (5, 99), (1, 9), (-1, 3)], "1000", "0001", "0100"),
    ([(0, 9), (0, 9), (0, 9), (0, 9)], "1000", "0000", "0000"),
    ([(0, 9), (0, 9), (0, 9), (0, 9)], "0000", "1111", "1111"),
    ([(0, 9), None, (3, 4), (3, 4)], "1000", "0100", "0100"),
]


@pytest.mark.parametrize(("bounds", "matching", "least", "greatest"), SKIPS)
def test_files_that_cannot_improve_are_skipped(
    bounds: list[Any], matching: str, least: str, greatest: str
) -> None:
    statistics = {
        "num_records": [10] * 4,
        "min.c": [None if b is None else b[0] for b in bounds],
        "max.c": [None if b is None else b[1] for b in bounds],
        "null_count.c": [0] * 4,
    }
    flags = [each == "1" for each in matching]
    for function, read in (("min", least), ("max", greatest)):
        result = answer_of(statistics, function, flags)
        assert "".join("01"[int(flag)] for flag in result.left) == read
        # COUNT needs all files.
        both = answer_of(statistics, f"{function} *", flags)
        assert both.left.tolist() == [not flag for flag in flags]


def test_inexact_bounds_skip_files_beyond_them() -> None:
    statistics = {
        "num_records": [5] * 4,
        "min.c": ["a", "c", "e", "z"],
        "max.c": ["b", "d", "f", "zz"],
        "null_count.c": [0, 0, 0, 0],
    }
    result = answer_of(statistics, "max", [True, True, True, False], STRING)
    assert (result.covered, result.skipped, result.left.tolist()) == (
        0,
        2,
        [False, False, True, True],
    )
    statistics["null_count.c"][2] = None  # then all of its values may be NULL
    result = answer_of(statistics, "max", [True, True, True, False], STRING)
    assert result.left.tolist() == [False, True, True, True]
    result = answer_of(statistics, "min", [True] * 4, STRING)
    assert result.left.tolist() == [True, False, False, False]


def test_file_in_which_a_filter_may_raise_is_read() -> None:
    table = pa.table({"min.c": [0, 5, 2], "max.c": [9, 9, 8], "num_records": [4] * 3})
    kept, matching = np.ones(3, np.bool_), np.array([True, False, False])
    aggregates = [Aggregate(Function.MIN, C)]
    segments, rows = [Segment(slice(0, 3), Files(table))], np.array([4, 4, 4])
    for raising, left, skipped in (
        (None, [False, False, False], 2),
        ([True, False, True], [False, False, True], 1),
    ):
        flags = None if raising is None else np.array(raising)
        result = answer(aggregates, segments, kept, matching, rows, None, flags)
        assert (result.left.tolist(), result.skipped, result.covered) == (left, skipped, 1)


def test_groups_without_rows_are_left_out() -> None:
    statistics = {"num_records": [10, 0, 5, 7], "min.c": [1, None, 2, 0], "max.c": [1, None, 2, 9]}
    result = answer_of(statistics, "* min", [True, True, True, False], keys=[0, 1, 0, 2])
    assert [(each.key, each.values) for each in result.partials] == [(0, (15, 1))]
    assert result.left.tolist() == [False, False, False, True]
    # A file of a group without a known row is read.
    result = answer_of(statistics, "", [True, True, False, False], keys=[0, 1, 0, 2])
    assert result.left.tolist() == [False, False, False, True]
    assert [each.key for each in result.partials] == [0]


FEW = st.sampled_from([-1.0, -0.0, 0.0, 2.0, None, NAN])


@given(
    st.lists(st.lists(FEW, min_size=1, max_size=3), min_size=1, max_size=4),
    st.sampled_from(["min", "max"]),
)
def test_each_file_that_may_decide_the_sign_of_a_zero_is_read(
    files: list[list[float | None]], function: str
) -> None:
    values = [[v for v in file if v is not None and not math.isnan(v)] for file in files]
    statistics = {
        "num_records": [len(file) for file in files],
        "min.c": [min(each, default=None) for each in values],
        "max.c": [max(each, default=None) for each in values],
        "null_count.c": [file.count(None) for file in files],
        "nan_count.c": [sum(v is not None and math.isnan(v) for v in file) for file in files],
    }
    result = answer_of(statistics, function, [True] * len(files), DOUBLE)
    if _result_of_rows(function, [value for file in files for value in file]) == 0:
        assert 0 not in [value for each in result.partials for value in each.values]
        assert [flag for flag, each in zip(result.left, values, strict=True) if 0 in each] == [
            True for each in values if 0 in each
        ]


# --- random files ---------------------------------------------------------------------------------


@dataclass
class RandomFile:
    rows: list[tuple[Any, bool]]  # the value, and whether the row passes the filter
    key: int


def _random_files(random: Random, data_type: DataType) -> list[RandomFile]:
    pool = POOLS[data_type][0]
    files = []
    for _ in range(random.randint(1, 7)):
        values = random.sample(pool, k=min(len(pool), random.choice([1, 2, 3])))
        nulls = random.choice([0.0, 0.0, 0.3, 1.0])
        passing = random.choice([1.0, 1.0, 0.6, 0.0])
        count = random.choice([0, 1, 2, 5])
        rows = [
            (None if random.random() < nulls else random.choice(values), random.random() < passing)
            for _ in range(count)
        ]
        files.append(RandomFile(rows, random.randrange(3)))
    return files


def _statistics(random: Random, data_type: DataType, files: list[RandomFile]) -> pa.Table:
    cells: dict[str, list[Any]] = {}
    unknown = random.choice([0.0, 0.1, 0.4])
    for file in files:
        values = [value for value, _ in file.rows]
        ordered = sorted((v for v in values if v is not None and v == v), key=order_key)
        low, high = (ordered[0], ordered[-1]) if ordered else (None, None)
        attained = True
        if data_type.is_text and ordered and random.random() < 0.5:
            below = [v for v in POOLS[data_type][0] if order_key(v) <= order_key(low)]
            above = [v for v in POOLS[data_type][0] if order_key(v) >= order_key(high)]
            low, high, attained = random.choice(below), random.choice(above), False
        statistics = {
            "num_records": len(values),
            "min.c": low,
            "max.c": high,
            "null_count.c": values.count(None),
            "nan_count.c": sum(v != v for v in values if v is not None),
            "attained.c": attained,
        }
        statistics = {
            name: None if random.random() < unknown else cell for name, cell in statistics.items()
        }
        # Wrong statistics whose contradiction is visible.
        low, high = statistics["min.c"], statistics["max.c"]
        if low is not None and high is not None and random.random() < 0.1:
            statistics["min.c"], statistics["max.c"] = high, low
        if random.random() < 0.05:
            statistics["null_count.c"] = len(values) + 1
        for name, value in statistics.items():
            cells.setdefault(name, []).append(value)
    kind = POOLS[data_type][1]
    kinds = {"min.c": kind, "max.c": kind, "attained.c": pa.bool_()}
    return pa.table({n: pa.array(v, kinds.get(n, pa.int64())) for n, v in cells.items()})


def _result_of_rows(function: str, values: list[Any]) -> Any:
    if function == "*":
        return len(values)
    present = sorted((v for v in values if v is not None), key=order_key)
    if function == "count":
        return len(present)
    return (present[0] if function == "min" else present[-1]) if present else None


def _combined(function: str, left: Any, right: Any) -> Any:
    if function in ("*", "count"):
        return left + right
    return _result_of_rows(function, [left, right])


@given(st.integers(0, 2**32).map(Random), st.sampled_from(list(POOLS)), st.booleans())
def test_statistics_plus_remaining_files_equal_all_rows(
    random: Random, data_type: DataType, grouped: bool
) -> None:
    files = _random_files(random, data_type)
    table = _statistics(random, data_type, files)
    functions = random.choices(["*", "count", "min", "max"], k=random.choice([1, 1, 2, 3]))
    if random.random() < 0.5:
        functions = random.choices(["min", "max"], k=random.choice([1, 2]))
    if grouped and random.random() < 0.1:
        functions = []
    column = Column(("c",), data_type)
    records = [-1 if n is None else n for n in table.column("num_records").to_pylist()]
    half = len(files) // 2
    result = answer(
        [ROWS if f == "*" else Aggregate(Function(f), column) for f in functions],
        [
            Segment(slice(0, half), Files(table.slice(0, half))),
            Segment(np.arange(half, len(files)), Files(table.slice(half))),
        ],
        np.array([any(p for _, p in f.rows) or random.random() < 0.5 for f in files]),
        np.array([all(p for _, p in f.rows) and random.random() < 0.9 for f in files]),
        np.array(records, np.int64),
        np.array([f.key for f in files]) if grouped else None,
    )
    answered = {each.key: each.values for each in result.partials}

    def rows(key: int, flags: list[bool]) -> list[Any]:
        return [
            value
            for file, flag in zip(files, flags, strict=True)
            for value, passes in file.rows
            if flag and passes and (file.key == key or not grouped)
        ]

    for key in range(3 if grouped else 1):
        every, read = rows(key, [True] * len(files)), rows(key, result.left.tolist())
        if grouped:  # a group exists only if it has a row
            assert bool(every) == (key in answered or bool(read))
        partial = answered.get(key, tuple(_result_of_rows(f, []) for f in functions))
        for function, value in zip(functions, partial, strict=True):
            rest = _result_of_rows(function, read)
            assert _same(_combined(function, value, rest), _result_of_rows(function, every))
    assert result.covered + result.skipped + int(result.left.sum()) <= len(files)


def _same(left: Any, right: Any) -> bool:
    if left is None or right is None or isinstance(left, Decimal):
        return bool(left == right)
    return bool(order_key(left) == order_key(right))
