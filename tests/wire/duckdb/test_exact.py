"""Casts, days and nanoseconds: verdicts on files of one or two rows against exact arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.expr.nodes import Not
from tamis.files.partition import PartitionField
from tamis.files.verdicts import evaluate
from tamis.wire.duckdb import from_duckdb
from tests.wire.duckdb.build import cast, column, compare, constant, decimal, document, operator

DAY = 86_400_000_000

#: The content of a column -> its type, the type of its statistics, values, and one of the values in
#: the unit of the constants below; then the type that the column is cast to, constants of that
#: type, and their values.
KINDS: dict[str, tuple[Any, ...]] = {
    "whole number, decimal constant": (
        *("INTEGER", pa.int32(), [-2, -1, 0, 1, 2], Fraction),
        *(decimal(11, 1), [-21, -20, -15, -5, 0, 5, 10, 15, 10**10], lambda v: Fraction(v, 10)),
    ),
    "whole number, floating constant": (
        *("INTEGER", pa.int32(), [-2, -1, 0, 1, 2], float),
        *("DOUBLE", [-2.0, -0.5, 0.5, 1.0, 1e300, math.inf, -math.inf, math.nan], float),
    ),
    "decimal, finer decimal": (
        *(decimal(4, 1), pa.decimal128(4, 1), [Decimal("-0.1"), Decimal(0), Decimal("0.1")]),
        Fraction,
        *(decimal(6, 2), [-15, -10, -5, 0, 5, 10, 15, 99999], lambda v: Fraction(v, 100)),
    ),
    "FLOAT, DOUBLE constant": (
        *("FLOAT", pa.float32(), [-1.5, 0.0, 1.100000023841858, math.inf], float),
        *("DOUBLE", [-1.5, 0.0, 1.1, 1.100000023841858, 1e300, math.nan], float),
    ),
    "date, timestamp": (
        *("DATE", pa.date32(), [-1, 0, 1], lambda v: v * DAY),
        *("TIMESTAMP", [-DAY - 1, -DAY, -1, 0, 1, DAY, DAY + 1], int),
    ),
    "timestamp as a date": (
        *("TIMESTAMP", pa.timestamp("us"), [-DAY - 1, -DAY, -1, 0, 1, DAY - 1, DAY]),
        lambda v: v // DAY,
        *("DATE", [-2, -1, 0, 1], int),
    ),
    "seconds, microseconds": (
        *("TIMESTAMP_S", pa.timestamp("s"), [-1, 0, 1], lambda v: v * 1_000_000),
        *("TIMESTAMP", [-1_000_000, -1, 0, 1, 1_000_000], int),
    ),
    "nanoseconds": (
        *("TIMESTAMP_NS", pa.timestamp("ns"), [-1001, -1000, -1, 0, 1, 999, 1000, 1001], int),
        *("TIMESTAMP_NS", [-1001, -1000, -999, -1, 0, 1, 999, 1000], int),
    ),
}

OPERATORS = {
    "EQUAL": lambda x, y: x == y,
    "NOTEQUAL": lambda x, y: x != y,
    "LESSTHAN": lambda x, y: x < y,
    "LESSTHANOREQUALTO": lambda x, y: x <= y,
    "GREATERTHAN": lambda x, y: x > y,
    "GREATERTHANOREQUALTO": lambda x, y: x >= y,
}


def line(value: Any) -> Any:
    """Return a sort key with NaN above all numbers."""
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def answer(kind: str, value: Any, other: Any) -> bool | None:
    if kind.endswith("DISTINCT_FROM"):
        either_null = value is None or other is None
        alike = value is other if either_null else line(value) == line(other)
        return alike == kind.startswith("NOT_")
    if value is None or other is None:
        return None
    return OPERATORS[kind](line(value), line(other))


def statistics(values: list[Any], data_type: pa.DataType) -> pa.Table:
    known = [each for each in values if each is not None]
    edges = [min(known, default=None), max(known, default=None)]
    counts = {"num_records": [len(values)], "null_count.title": [values.count(None)]}
    if pa.types.is_floating(data_type):
        counts["nan_count.title"] = [0]
    return pa.table(
        {
            **counts,
            "min.title": pa.array(edges[:1], data_type),
            "max.title": pa.array(edges[1:], data_type),
        }
    )


def check(filters: dict[str, Any], truths: list[bool | None], files: pa.Table) -> None:
    (expr,) = from_duckdb(document(filters))
    negated = [None if truth is None else not truth for truth in truths]
    for predicate, expected in ((expr, truths), (Not(expr), negated)):
        verdict = evaluate(predicate, files).to_pylist()[0]
        assert verdict != "none" or True not in expected
        assert verdict != "all" or expected == [True] * len(expected)


@pytest.mark.parametrize("name", KINDS)
@given(st.data())
def test_verdicts_are_sound(name: str, data: st.DataObject) -> None:
    source, arrow, pool, in_terms, target, constants, is_worth = KINDS[name]
    values = data.draw(st.lists(st.sampled_from([*pool, None]), min_size=1, max_size=2))
    files = statistics(values, arrow)
    terms = [None if value is None else in_terms(value) for value in values]
    place = column(0, source)
    place = place if source == target else cast(place, target)

    def worth(each: Any) -> Any:
        return None if each is None else is_worth(each)

    options = data.draw(st.lists(st.sampled_from([*constants, None]), min_size=1, max_size=3))
    kind = data.draw(st.sampled_from([*OPERATORS, "DISTINCT_FROM", "NOT_DISTINCT_FROM"]))
    truths = [answer(kind, term, worth(options[0])) for term in terms]
    check(compare(kind, place, constant(target, options[0])), truths, files)

    equals = [[answer("EQUAL", term, worth(each)) for each in options] for term in terms]
    truths_of_in = [True if True in each else None if None in each else False for each in equals]
    check(
        operator("COMPARE_IN", place, *(constant(target, each) for each in options)),
        truths_of_in,
        files,
    )


@given(
    st.sampled_from(KINDS["nanoseconds"][2]),
    st.sampled_from(KINDS["nanoseconds"][2]),
    st.sampled_from([*OPERATORS, "DISTINCT_FROM", "NOT_DISTINCT_FROM"]),
)
def test_comparison_of_two_nanosecond_columns_is_sound(left: int, right: int, kind: str) -> None:
    files = pa.table(
        {
            f"{edge}.{name}": pa.array([value], pa.timestamp("ns"))
            for edge in ("min", "max")
            for name, value in (("title", left), ("score", right))
        }
        | {"null_count.title": [0], "null_count.score": [0], "num_records": [1]}
    )
    filters = compare(kind, column(0, "TIMESTAMP_NS"), column(2, "TIMESTAMP_NS"))
    check(filters, [answer(kind, left, right)], files)


def test_day_partition_includes_its_last_nanosecond() -> None:
    files = pa.table({"num_records": [1], "partition.day": pa.array([0], pa.int32())})
    last = constant("TIMESTAMP_NS", DAY * 1000 - 1000)
    (expr,) = from_duckdb(document(compare("GREATERTHAN", column(0, "TIMESTAMP_NS"), last)))
    spec = [PartitionField("title", "day", "day")]
    assert evaluate(expr, files, spec).to_pylist() == ["some"]


@pytest.mark.parametrize(
    ("name", "value", "kind", "other", "verdict"),
    [
        ("whole number, decimal constant", 1, "GREATERTHAN", 5, "all"),
        ("whole number, decimal constant", 1, "EQUAL", 5, "none"),
        ("whole number, decimal constant", 1, "LESSTHAN", 10**10, "all"),
        ("whole number, floating constant", 1, "LESSTHAN", math.nan, "all"),
        ("date, timestamp", 0, "LESSTHAN", 1, "all"),
        ("timestamp as a date", -1, "EQUAL", -1, "all"),
        ("seconds, microseconds", 1, "GREATERTHAN", 1, "all"),
        ("nanoseconds", 1001, "GREATERTHANOREQUALTO", 1000, "all"),
        ("nanoseconds", -1, "GREATERTHANOREQUALTO", 1000, "none"),
        ("nanoseconds", -1001, "LESSTHAN", 1, "all"),
        ("nanoseconds", 0, "EQUAL", 1, "some"),
    ],
)
def test_verdicts_are_tight(name: str, value: Any, kind: str, other: Any, verdict: str) -> None:
    source, arrow, _, _, target, _, _ = KINDS[name]
    place = column(0, source) if source == target else cast(column(0, source), target)
    (expr,) = from_duckdb(document(compare(kind, place, constant(target, other))))
    assert evaluate(expr, statistics([value], arrow)).to_pylist() == [verdict]
