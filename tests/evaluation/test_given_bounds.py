"""Functions over given bounds: tags, days of intervals, and seconds since 1970."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tamis.evaluation.nodes.operators  # noqa: F401  fills the registries
from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.interpreter import value
from tamis.expr.nodes import Call, Column, Expr, Literal
from tamis.expr.types import (
    DATE,
    DAY_TIME_INTERVAL,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    YEAR_MONTH_INTERVAL,
    DataType,
)
from tests.evaluation.given import Given

DAY = 86_400_000_000
LEAST, GREATEST = DAY_TIME_INTERVAL.domain
INT_LEAST, INT_GREATEST = INTEGER.domain


def bounds_of(expr: Expr, data_type: DataType, low: list[int], high: list[int]) -> Bounds | None:
    nulls = np.array([place % 2 == 0 for place in range(len(low))])
    given = Bounds(data_type, np.array(low), np.array(high), nulls, NO, YES)
    return value(expr, Given(given, len(low)))


def known_not_null(result: DataType, *arguments: Expr) -> Call:
    return Call("KnownNotNull", arguments, (), result)


def test_tagged_value_is_the_value_where_it_is_not_null() -> None:
    column = Column(("c",), LONG)
    bounds = bounds_of(known_not_null(LONG, column), LONG, [1, 5, 9], [3, 7, 9])
    assert bounds is not None
    assert isinstance(bounds.lower, np.ndarray)
    assert isinstance(bounds.upper, np.ndarray)
    assert (bounds.lower.tolist(), bounds.upper.tolist()) == ([1, 5, 9], [3, 7, 9])
    assert not bounds.can_be_null.any()
    assert bounds.can_be_value.all()


@pytest.mark.parametrize(
    "call",
    [
        known_not_null(LONG),
        known_not_null(LONG, Column(("c",), LONG), Column(("c",), LONG)),
        known_not_null(STRING, Column(("c",), LONG)),
        known_not_null(LONG, Call("Unknown", (), (), LONG)),
    ],
)
def test_malformed_known_not_null_is_unknown(call: Call) -> None:
    bounds: Any = bounds_of(call, LONG, [1], [3])
    assert (bounds.lower, bounds.upper) == (None, None)


# An interval's least and greatest value, and the whole days of them.
DAYS = [
    (0, 0, 0, 0),
    (DAY - 1, DAY, 0, 1),
    (-DAY, 1 - DAY, -1, 0),
    (-DAY - 1, -1, -1, 0),
    (5 * DAY + 3, 9 * DAY - 1, 5, 8),
    # An edge at the end of the type is unknown.
    (LEAST, 5 * DAY, INT_LEAST, 5),
    (LEAST + 1, 5 * DAY, -((1 << 63) // DAY), 5),
    (5 * DAY, GREATEST, 5, INT_GREATEST),
    (5 * DAY, GREATEST - 1, 5, (1 << 63) // DAY),
    (LEAST, GREATEST, INT_LEAST, INT_GREATEST),
]


def test_whole_days_are_rounded_toward_zero() -> None:
    call = Call("ExtractANSIIntervalDays", (Column(("c",), DAY_TIME_INTERVAL),), (), INTEGER)
    low, high, first, last = (list(each) for each in zip(*DAYS, strict=True))
    bounds: Any = bounds_of(call, DAY_TIME_INTERVAL, low, high)
    assert (bounds.lower.tolist(), bounds.upper.tolist()) == (first, last)
    assert bounds.can_be_null.tolist() == [place % 2 == 0 for place in range(len(DAYS))]


@pytest.mark.parametrize(
    ("data_type", "result", "arguments"),
    [
        (YEAR_MONTH_INTERVAL, INTEGER, 1),
        (LONG, INTEGER, 1),
        (DAY_TIME_INTERVAL, LONG, 1),
        (DAY_TIME_INTERVAL, INTEGER, 0),
        (DAY_TIME_INTERVAL, INTEGER, 2),
    ],
)
def test_whole_days_of_other_types_are_unknown(
    data_type: DataType, result: DataType, arguments: int
) -> None:
    column = Column(("c",), data_type)
    call = Call("ExtractANSIIntervalDays", (column,) * arguments, (), result)
    bounds: Any = bounds_of(call, data_type, [1], [3])
    assert (bounds.lower, bounds.upper) == (None, None)


# A type, the least and greatest moment or day, the time zone, and the seconds.
SECONDS = [
    (TIMESTAMP, 0, 999_999, "UTC", 0, 0),
    (TIMESTAMP, -999_999, -1, "UTC", 0, 0),
    (TIMESTAMP, -1_000_000, 1_000_000, "Asia/Tokyo", -1, 1),
    (TIMESTAMP_NTZ, 5_999_999, 7_000_000, "Asia/Tokyo", 5, 7),
    (TIMESTAMP, -(1 << 63), (1 << 63) - 1, "UTC", -9_223_372_036_854, 9_223_372_036_854),
    (DATE, 0, 1, "UTC", 0, 86_400),
    (DATE, -1, 19_782, "UTC", -86_400, 19_782 * 86_400),
    (DATE, 19_782, 19_782, "America/New_York", 19_782 * 86_400 + 18_000, 19_782 * 86_400 + 18_000),
    (DATE, 19_900, 19_901, "America/New_York", 19_900 * 86_400 + 14_400, 19_901 * 86_400 + 14_400),
]


@pytest.mark.parametrize("name", ["UnixTimestamp", "ToUnixTimestamp"])
@pytest.mark.parametrize(("data_type", "low", "high", "zone", "first", "last"), SECONDS)
def test_seconds_since_1970(
    name: str, data_type: DataType, low: int, high: int, zone: str, first: int, last: int
) -> None:
    options = (("timeZoneId", zone), ("failOnError", True))
    form = Literal("yyyy-MM-dd HH:mm:ss", STRING)
    call = Call(name, (Column(("c",), data_type), form), options, LONG)
    bounds: Any = bounds_of(call, data_type, [low], [high])
    assert (bounds.lower.tolist(), bounds.upper.tolist()) == ([first], [last])
    for wrong in (Call(name, (), options, LONG), Call(name, call.arguments, options, INTEGER)):
        unknown: Any = bounds_of(wrong, data_type, [low], [high])
        assert (unknown.lower, unknown.upper) == (None, None)


@pytest.mark.parametrize("edge", [-2_147_483_648, -106_751_991, 106_751_991, 2_147_483_647])
def test_seconds_of_days_beyond_64_bits_are_unknown(edge: int) -> None:
    """The microseconds of the day do not fit 64 bits."""
    call = Call("UnixTimestamp", (Column(("c",), DATE),), (("timeZoneId", "UTC"),), LONG)
    bounds: Any = bounds_of(call, DATE, [min(edge, 0), 0], [max(edge, 0), 1])
    assert (bounds.lower.tolist(), bounds.upper.tolist()) == (
        [LONG.domain[0], 0],
        [LONG.domain[1], 86_400],
    )
