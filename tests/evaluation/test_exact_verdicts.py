"""Exact truth sets of comparisons and lists, over every pair of edges of a small universe.

The values of a universe are the constants, the values one step to either side of them, and the ends
of the type. A container has the values of the universe between its edges. An unknown edge is the
end of the type, and an unknown count allows the value. The rules must answer exactly: a truth value
is possible if and only if some row has it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation import verdicts
from tamis.evaluation.interpreter import truth
from tamis.expr.nodes import (
    And,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Within,
)
from tamis.expr.sql import to_sql
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    decimal,
)
from tamis.files.table import ArrowStatistics
from tests.differential.keys import order_key
from tests.differential.rows import row_value

WIDE, SHORT_DECIMAL = decimal(30, 6), decimal(9, 2)


def around(*constants: int, least: int, greatest: int) -> list[int]:
    near = {each + step for each in constants for step in (-1, 0, 1)}
    return sorted(each for each in {*near, least, greatest} if least <= each <= greatest)


def decimals(scale: int, end: int) -> list[Decimal]:
    return [Decimal(f"{each}E-{scale}") for each in around(-3, 5, 8, least=-end, greatest=end)]


def floats(dtype: Any) -> list[float]:
    values = []
    for each in (-3.0, 0.5, 2.0):
        low, high = (np.nextafter(dtype(each), dtype(end)) for end in (-np.inf, np.inf))
        values += [float(low), each, float(high)]
    return [-math.inf, *values, math.inf]


#: Type, values in ascending order, the constants among them, and the Arrow type of the statistics.
UNIVERSES: dict[DataType, tuple[list[Any], tuple[Any, ...], pa.DataType]] = {
    BOOLEAN: ([False, True], (False, True), pa.bool_()),
    BYTE: (around(-3, 5, 8, least=-128, greatest=127), (-3, 5, 8, 6, 7), pa.int8()),
    LONG: (around(-3, 5, 7, least=-(1 << 63), greatest=(1 << 63) - 1), (-3, 5, 7, 6), pa.int64()),
    DATE: (around(-3, 5, 8, least=-(1 << 31), greatest=(1 << 31) - 1), (-3, 5, 8), pa.date32()),
    TIMESTAMP: (
        around(-3, 5, least=-(1 << 63), greatest=(1 << 63) - 1),
        (-3, 5),
        pa.timestamp("us", "UTC"),
    ),
    DOUBLE: (floats(np.float64), (-3.0, 0.5, 2.0, math.inf, math.nan), pa.float64()),
    FLOAT: (floats(np.float32), (-3.0, 0.5, 2.0, -math.inf, math.nan), pa.float32()),
    SHORT_DECIMAL: (
        decimals(2, 10**9 - 1),
        (Decimal("-0.03"), Decimal("0.05")),
        pa.decimal128(9, 2),
    ),
    WIDE: (
        decimals(6, 10**30 - 1),
        (Decimal("-0.000003"), Decimal("0.000005")),
        pa.decimal128(30, 6),
    ),
    decimal(9, 0): (decimals(0, 10**9 - 1), (Decimal(-3), Decimal(5)), pa.decimal128(9, 0)),
    decimal(30, 0): (decimals(0, 10**30 - 1), (Decimal(-3), Decimal(5)), pa.decimal128(30, 0)),
    STRING: (
        [
            "",
            "\0",
            "a",
            "az\U0010ffff",
            "b",
            "b\0",
            "b\0\0",
            "c",
            "customer#1",
            "customer#1\0",
            "\U0010ffff",
        ],
        ("a", "b", "customer#1"),
        pa.string(),
    ),
    BINARY: (
        [b"", b"\0", b"a", b"b", b"b\0", b"b\xff", b"\xff", b"\xff\xff"],
        (b"b", b"\xff"),
        pa.binary(),
    ),
}


def predicates(column: Column) -> Iterator[Expr]:
    _, constants, _ = UNIVERSES[column.type]
    for op, constant in product(Comparison, (*constants, None)):
        literal = Literal(constant, column.type)
        yield Compare(op, column, literal)
        yield Compare(op, literal, column)
    yield IsNull(column)
    yield Not(IsNull(column))
    lists = [(each,) for each in constants[:2]] + [
        constants,
        constants[:2],
        tuple(reversed(constants[1:])),
    ]
    for options, has_null in product(lists, (False, True)):
        yield In(column, options, has_null)
        yield Not(In(column, options, has_null))
    if column.type == BOOLEAN:
        yield column
        yield Not(column)
        return
    low, high = constants[0], constants[1]
    for lower, upper, is_open, nan in product(
        (None, low), (None, high), (False, True), (False, True)
    ):
        # Only text has open edges, and only floating types have NaN.
        if is_open > (upper is not None and column.type.is_text) or nan > column.type.is_floating:
            continue
        yield Within(column, lower, upper, is_open, nan)
        yield Not(Within(column, lower, upper, is_open, nan))


def containers(column: Column) -> tuple[list[list[Any]], pa.Table]:
    """Return the possible rows of each container, and its statistics."""
    universe, _, arrow = UNIVERSES[column.type]
    places = range(len(universe))
    spans = [(low, high) for low, high in product((None, *places), repeat=2)]
    spans = [(low, high) for low, high in spans if low is None or high is None or low <= high]
    nans = (0, 1, None) if column.type.is_floating else (0,)
    rows: list[list[Any]] = []
    cells: dict[str, list[Any]] = {
        "min": [],
        "max": [],
        "null_count": [],
        "nan_count": [],
        "rows": [],
    }

    def add(
        possible_rows: list[Any], low: Any, high: Any, nulls: Any, nan: Any, count: int | None
    ) -> None:
        rows.append(possible_rows)
        for name, cell in zip(cells, (low, high, nulls, nan, count), strict=True):
            cells[name].append(cell)

    for (low, high), nulls, nan in product(spans, (0, 1, None), nans):
        contained = universe[low or 0 : len(universe) if high is None else high + 1]
        contained = [*contained, *([] if nulls == 0 else [None]), *([] if nan == 0 else [math.nan])]
        edges = (None if each is None else universe[each] for each in (low, high))
        add(contained, *edges, nulls, nan, 20)
    add([None], None, None, 20, 0, 20)
    if column.type.is_floating:
        add([math.nan], None, None, 0, 20, 20)
        add([math.nan, None], None, None, 10, 10, 20)
    name = column.path[0]
    table = {"num_records": pa.array(cells["rows"], pa.int64())}
    for cell in ("min", "max"):
        table[f"{cell}.{name}"] = pa.array(cells[cell], arrow)
    for cell in ("null_count", "nan_count"):
        if cell == "null_count" or column.type.is_floating:
            table[f"{cell}.{name}"] = pa.array(cells[cell], pa.int64())
    return rows, pa.table(table)


def flags_of(flags: Any, count: int) -> list[bool]:
    return np.broadcast_to(flags, (count,)).tolist()


def claims(predicate: Expr, statistics: ArrowStatistics) -> list[tuple[bool, bool, bool]]:
    """Return whether the predicate may be true, false and NULL in each container."""
    truth_set, count = truth(predicate, statistics), statistics.num_containers
    each = (truth_set.can_be_true, truth_set.can_be_false, truth_set.can_be_null)
    return list(zip(*(flags_of(flags, count) for flags in each), strict=True))


def exact(values: Sequence[Any]) -> tuple[bool, bool, bool]:
    return True in values, False in values, None in values


def places_of(column: Column, rows: list[list[Any]]) -> tuple[list[Any], list[list[int]]]:
    """Return every possible value of a row, and each row as its position among them."""
    values = [*UNIVERSES[column.type][0], None, *([math.nan] if column.type.is_floating else [])]
    place_of = {order_key(each): place for place, each in enumerate(values)}
    return values, [[place_of[order_key(each)] for each in contained] for contained in rows]


@pytest.mark.parametrize("data_type", UNIVERSES, ids=str)
def test_truth_value_is_possible_iff_a_row_has_it(data_type: DataType) -> None:
    column = Column(("c",), data_type)
    rows, table = containers(column)
    statistics = ArrowStatistics(table)
    values, places = places_of(column, rows)
    for predicate in predicates(column):
        truths = [row_value(predicate, {("c",): each}) for each in values]
        all_claims = claims(predicate, statistics)
        for ordinal, (contained, claimed) in enumerate(zip(places, all_claims, strict=True)):
            cells = table.slice(ordinal, 1)
            expected = exact([truths[each] for each in contained])
            assert claimed == expected, (to_sql(predicate), cells.to_pylist())


@pytest.mark.parametrize("missing", ["min", "max", "null_count"])
@pytest.mark.parametrize("data_type", UNIVERSES, ids=str)
def test_missing_column_equals_a_column_of_nulls(data_type: DataType, missing: str) -> None:
    column = Column(("c",), data_type)
    _, table = containers(column)
    absent = table.filter(table[f"{missing}.c"].is_null())
    with_nulls, without_column = (
        ArrowStatistics(absent),
        ArrowStatistics(absent.drop_columns(f"{missing}.c")),
    )
    for predicate in predicates(column):
        more, less = claims(predicate, with_nulls), claims(predicate, without_column)
        if data_type == BOOLEAN or data_type.is_floating:
            # A null cell means the end of the type, which may be the only value left.
            for with_cells, absent in zip(more, less, strict=True):
                assert all(b or not a for a, b in zip(with_cells, absent, strict=True)), to_sql(
                    predicate
                )
        else:
            assert more == less, to_sql(predicate)


@pytest.mark.parametrize("data_type", [BYTE, DOUBLE, STRING, WIDE], ids=str)
def test_verdicts_of_conjunctions_are_exact(data_type: DataType) -> None:
    """The conjuncts are on one column: true for both, or for either."""
    column = Column(("c",), data_type)
    rows, table = containers(column)
    statistics = ArrowStatistics(table)
    values, places = places_of(column, rows)
    every = list(predicates(column))
    pairs = list(zip(every, [*every[7:], *every[:7]], strict=True))
    for first, second in pairs[::3]:
        for predicate in (And((first, second)), Or((first, second)), Not(Or((first, Not(second))))):
            truths = [row_value(predicate, {("c",): each}) is True for each in values]
            codes = verdicts(predicate, statistics).tolist()
            for ordinal, (contained, code) in enumerate(zip(places, codes, strict=True)):
                true = [truths[each] for each in contained]
                text = (to_sql(predicate), table.slice(ordinal, 1).to_pylist())
                assert code != 0 or not any(true), text
                assert code != 2 or all(true), text
                is_plain = (
                    isinstance(predicate, And)
                    and not isinstance(first, Not)
                    and not isinstance(second, Not)
                )
                if is_plain and data_type == BYTE and None not in contained:
                    assert code == (2 if all(true) else 1 if any(true) else 0), text


COLUMNS = tuple(Column((name,), BYTE) for name in "xy")


def value_pairs(op: Comparison) -> Iterator[tuple[list[Any], list[Any], dict[str, Any]]]:
    spans = [(0, 0), (0, 2), (1, 1), (1, 3), (2, 4), (4, 4), None]
    for x, y in product(spans, repeat=2):
        for x_null, y_null in product((False, True), repeat=2):
            yield (
                ([] if x is None else list(range(x[0], x[1] + 1))) + [None] * (x_null or x is None),
                ([] if y is None else list(range(y[0], y[1] + 1))) + [None] * (y_null or y is None),
                {"op": op},
            )


@pytest.mark.parametrize("op", Comparison, ids=str)
def test_comparisons_of_two_columns_are_exact(op: Comparison) -> None:
    pairs = [(xs, ys) for xs, ys, _ in value_pairs(op)]
    cells: dict[str, Any] = {"num_records": pa.array([8] * len(pairs))}
    for place, name in enumerate("xy"):
        values = [[each for each in pair[place] if each is not None] for pair in pairs]
        cells[f"min.{name}"] = pa.array([min(each, default=None) for each in values], pa.int8())
        cells[f"max.{name}"] = pa.array([max(each, default=None) for each in values], pa.int8())
        nulls = [
            8 if not v else pair[place].count(None) for v, pair in zip(values, pairs, strict=True)
        ]
        cells[f"null_count.{name}"] = pa.array(nulls, pa.int64())
    predicate = Compare(op, *COLUMNS)
    all_claims = claims(predicate, ArrowStatistics(pa.table(cells)))
    for (xs, ys), claimed in zip(pairs, all_claims, strict=True):
        rows = [row_value(predicate, {("x",): x, ("y",): y}) for x, y in product(xs, ys)]
        assert claimed == exact(rows), (to_sql(predicate), xs, ys)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_empty_list_matches_no_row(count: int) -> None:
    column = Column(("c",), BYTE)
    table = pa.table({"num_records": [count], "min.c": [1], "max.c": [2], "null_count.c": [0]})
    if not count:
        table = table.drop_columns(["min.c", "max.c"])
    assert verdicts(In(column, (), False), ArrowStatistics(table)).tolist() == [0]
