"""Statistics of Airport servers: what is used of an answer, and what it proves."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from math import nan
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.remote.airport.column_statistics import column_statistics
from tamis.remote.airport.messages import MalformedAnswer
from tamis.remote.contract import ColumnStatistics, TableStatistics
from tamis.remote.proof import rules_out_all
from tests.remote.airport_server import stream_of

LONG = pa.int64()
TEXT = pa.string()


def answer(data_type: Any, low: Any, high: Any, **more: pa.Array) -> bytes:
    columns = {
        "has_not_null": pa.array([True]),
        "has_null": pa.array([False]),
        "distinct_count": pa.array([3], pa.uint64()),
        "min": pa.array([low], data_type),
        "max": pa.array([high], data_type),
    }
    return stream_of(columns | more)


def read(data_type: Any, low: Any, high: Any, **more: pa.Array) -> tuple[Any, Any, bool | None]:
    found = column_statistics(answer(data_type, low, high, **more), data_type)
    ends = (found.minimum, found.maximum)
    return (*(None if end is None else end.as_py() for end in ends), found.has_nulls)


@pytest.mark.parametrize(
    ("data_type", "low", "high", "known"),
    [
        (LONG, 1, 9, (1, 9, False)),
        (LONG, 1, 1, (1, 1, False)),
        (pa.uint8(), 1, 255, (1, 255, False)),
        (pa.uint64(), 1, 2**64 - 1, (1, 2**64 - 1, False)),
        (pa.date32(), date(1969, 1, 1), date(1970, 1, 2), (date(1969, 1, 1), date(1970, 1, 2), False)),
        (pa.decimal128(9, 2), Decimal("-1.50"), Decimal("2.00"), (Decimal("-1.50"), Decimal("2.00"), False)),
        (pa.float64(), -1.5, 2.5, (-1.5, 2.5, False)),
        (TEXT, "a", "zzz", ("a", "zzz", False)),
        # servers that know nothing send the ends of the type in the wrong order
        (LONG, 2**63 - 1, -(2**63), (None, None, None)),
        (TEXT, "", "", (None, None, None)),
        (TEXT, "", "a", ("", "a", False)),
        (LONG, None, 9, (None, None, None)),
        (LONG, 1, None, (None, None, None)),
        (pa.float64(), 1.0, nan, (None, None, None)),
        # DuckDB keeps 8 bytes of a text
        (TEXT, "abcdefgh", "abcdefgh", ("abcdefgh", None, False)),
        (TEXT, "a", "ééé", ("a", "ééé", False)),
        (TEXT, "a", "éééé", ("a", None, False)),
    ],
)  # fmt: skip
def test_bounds_of_the_declared_type_are_used(
    data_type: Any, low: Any, high: Any, known: tuple[Any, ...]
) -> None:
    assert read(data_type, low, high) == known


@pytest.mark.parametrize(("longest", "used"), [(8, True), (9, False), (0, False), (None, False)])
def test_long_text_is_a_maximum_if_no_text_is_longer(longest: int | None, used: bool) -> None:
    more = {"max_string_length": pa.array([longest], pa.uint64())}
    assert read(TEXT, "a", "abcdefgh", **more)[1] == ("abcdefgh" if used else None)


def test_nulls_are_excluded_only_if_the_server_says_so() -> None:
    assert read(LONG, 1, 2, has_null=pa.array([True]))[2] is None
    assert read(LONG, 1, 2, has_null=pa.array([None], pa.bool_()))[2] is None
    assert column_statistics(stream_of({"min": pa.array([1]), "max": pa.array([2])}), LONG) == (
        ColumnStatistics(pa.scalar(1), pa.scalar(2))
    )


@pytest.mark.parametrize(("longest", "known"), [(0, None), (1, False), (None, False)])
@pytest.mark.parametrize("data_type", [TEXT, pa.bool_()])
def test_nulls_are_not_excluded_by_zeros_for_what_is_unknown(
    data_type: Any, longest: int | None, known: bool | None
) -> None:
    low, high = ("a", "b") if data_type == TEXT else (False, True)
    more = {
        "distinct_count": pa.array([0], pa.uint64()),
        "max_string_length": pa.array([longest], pa.uint64()),
        "contains_unicode": pa.array([False]),
    }
    assert read(data_type, low, high, **more) == (low, high, known)


def test_bounds_of_another_type_are_not_used() -> None:
    assert column_statistics(answer(pa.int32(), 1, 2), LONG) == ColumnStatistics()


@pytest.mark.parametrize(
    "columns",
    [
        {"min": pa.array([1, 2]), "max": pa.array([3, 4])},
        {"min": pa.array([], LONG), "max": pa.array([], LONG)},
    ],
)
def test_answer_of_several_rows_is_malformed(columns: dict[str, pa.Array]) -> None:
    with pytest.raises(MalformedAnswer, match="not one row"):
        column_statistics(stream_of(columns), LONG)


def test_answer_that_is_not_a_stream_is_malformed() -> None:
    with pytest.raises(pa.ArrowException):
        column_statistics(b"nothing", LONG)


KNOWN = TableStatistics(
    columns={
        "n": ColumnStatistics(pa.scalar(1), pa.scalar(9)),
        "m": ColumnStatistics(pa.scalar(1), pa.scalar(9), has_nulls=False),
        "x": ColumnStatistics(pa.scalar(1.0), pa.scalar(9.0)),
        "s": ColumnStatistics(pa.scalar("b"), None),
        "e": ColumnStatistics(has_values=False),
    }
)
TYPES = {"n": "BIGINT", "m": "BIGINT", "x": "DOUBLE", "s": "STRING", "e": "BIGINT", "u": "BIGINT"}

# predicate, and whether these statistics prove that no row passes
PROOFS = [
    ("n > 9", True),
    ("n > 8", False),
    ("n IS NULL", False),
    ("m IS NULL", True),
    ("m IS NOT NULL", False),
    ("n BETWEEN 10 AND 20 OR n < 1", True),
    ("n IN (0, 10, 11)", True),
    ("x < 1.0", True),
    ("x > 9.0", False),  # NaN is above all numbers
    ("s < 'b'", True),
    ("s > 'zz'", False),
    ("e = 1", True),
    ("e IS NULL", False),
    ("u = 1", False),
    ("n > 9 AND u = 1", True),
    ("n + 1 > 10", True),
    ("NOT (n < 10)", True),
    ("n > m + 8", True),
]


@pytest.mark.spark
@pytest.mark.parametrize(("predicate", "proof"), PROOFS)
def test_statistics_decide_predicates(spark: Any, predicate: str, proof: bool) -> None:
    schema = ", ".join(f"{name} {data_type}" for name, data_type in TYPES.items())
    expr = tamis.parse(spark, predicate, schema)
    assert rules_out_all([expr], KNOWN) == proof


@given(st.lists(st.none() | st.integers(-9, 9), min_size=1), st.integers(-12, 12))
def test_no_row_passes_what_is_ruled_out(values: list[int | None], constant: int) -> None:
    from tamis.expr.nodes import Column, Compare, Comparison, IsNull, Literal
    from tamis.expr.types import LONG as LONG_TYPE

    known = [value for value in values if value is not None]
    column = Column(("n",), LONG_TYPE)
    statistics = TableStatistics(
        columns={
            "n": ColumnStatistics(
                pa.scalar(min(known)) if known else None,
                pa.scalar(max(known)) if known else None,
                has_nulls=len(known) < len(values),
                has_values=bool(known),
            )
        }
    )
    passes = {
        Comparison.LESS: lambda v: v < constant,
        Comparison.GREATER_EQUAL: lambda v: v >= constant,
        Comparison.EQUAL: lambda v: v == constant,
        Comparison.NOT_EQUAL: lambda v: v != constant,
    }
    for op, test in passes.items():
        expr = Compare(op, column, Literal(constant, LONG_TYPE))
        if rules_out_all([expr], statistics):
            assert not any(map(test, known))
    if rules_out_all([IsNull(column)], statistics):
        assert None not in values
