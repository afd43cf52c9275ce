"""Text of dates and timestamps at the ends of the years 1900 to 9999, and of numbers beyond them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tamis.evaluation.interpreter import value
from tamis.expr.nodes import Call, Column, Expr, Literal
from tamis.expr.types import DATE, DOUBLE, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from tests.evaluation.given import Given, between

DAY = 86_400_000_000
FIRST = -25_567 * DAY
LAST = 2_932_897 * DAY - 1
SECONDS = "yyyy-MM-dd HH:mm:ss"
BILLION = 10**9


def edges(
    name: str, data_type: DataType, lower: int, upper: int, *constants: str, zone: str = "UTC"
) -> tuple[Any, Any]:
    """The edges of the text of a column with these bounds; None where they are not known."""
    literals = [Literal(each, STRING) for each in constants]
    arguments: tuple[Expr, ...] = (Column(("c",), data_type), *literals)
    call = Call(name, arguments, (("timeZoneId", zone), ("evalMode", "LEGACY")), STRING)
    bounds = value(call, Given(between(data_type, lower, upper)))
    assert bounds is not None
    low, high = (
        edge.to_pylist()[0] if isinstance(edge, pa.Array) else None
        for edge in (bounds.lower, bounds.upper)
    )
    return low, high


def test_last_moment_of_the_year_9999_has_a_text() -> None:
    assert edges("Cast", TIMESTAMP_NTZ, LAST, LAST) == (
        b"9999-12-31 23:59:59",
        b"9999-12-31 23:59:59.999999",
    )
    whole = b"9999-12-31 23:59:59"
    assert edges("DateFormatClass", TIMESTAMP_NTZ, LAST, LAST, SECONDS) == (whole, whole)


@pytest.mark.parametrize(("lower", "upper"), [(FIRST - 1, LAST), (FIRST, LAST + 1)])
@pytest.mark.parametrize("name", ["Cast", "DateFormatClass"])
def test_text_of_other_years_is_unknown(name: str, lower: int, upper: int) -> None:
    constants = () if name == "Cast" else (SECONDS,)
    assert None not in edges(name, TIMESTAMP_NTZ, FIRST, LAST, *constants)
    assert edges(name, TIMESTAMP_NTZ, lower, upper, *constants) == (None, None)


@pytest.mark.parametrize("zone", ["UTC", "+05:30", "-08:00"])
@pytest.mark.parametrize(
    ("lower", "upper"),
    [(-(1 << 63), 0), (0, (1 << 63) - 1), (-(1 << 63), (1 << 63) - 1), (-10 * BILLION, 0)],
)
def test_seconds_that_no_moment_holds_have_no_text(lower: int, upper: int, zone: str) -> None:
    assert edges("FromUnixTime", LONG, lower, upper, SECONDS, zone=zone) == (None, None)


def test_seconds_of_a_moment_have_its_text() -> None:
    assert edges("FromUnixTime", LONG, 0, BILLION, SECONDS, zone="+05:30") == (
        b"1970-01-01 05:30:00",
        b"2001-09-09 07:16:40",
    )


@pytest.mark.parametrize(
    ("data_type", "pattern"), [(STRING, SECONDS), (DOUBLE, SECONDS), (LONG, "MM"), (LONG, "")]
)
def test_seconds_that_are_not_whole_or_do_not_sort_have_no_text(
    data_type: DataType, pattern: str
) -> None:
    call = Call(
        "FromUnixTime",
        (Column(("c",), data_type), Literal(pattern, STRING)),
        (("timeZoneId", "UTC"),),
        STRING,
    )
    low, high = ("a", "b") if data_type == STRING else (0, 1)
    bounds = value(call, Given(between(data_type, low, high)))
    assert bounds is not None
    assert bounds.lower is None
    assert bounds.upper is None
    assert bounds.can_be_null.all()


#: A day whose number of microseconds is near 2 ** 64: in 64 bits it looks like 1970-01-01.
LIKE_1970 = 213_503_983


@pytest.mark.parametrize(("lower", "upper"), [(-LIKE_1970 + 1, 5), (5, LIKE_1970)])
def test_date_whose_microseconds_overflow_has_no_text(lower: int, upper: int) -> None:
    assert 0 <= LIKE_1970 * DAY - (1 << 64) < 365 * DAY
    assert edges("Cast", DATE, lower, upper) == (None, None)
    assert edges("Cast", DATE, 5, 5) == (b"1970-01-06", b"1970-01-06")


def test_moment_of_a_zone_is_written_in_its_local_time() -> None:
    """The ends of the years are those of the local time."""
    hour = 3_600_000_000
    assert None not in edges("DateFormatClass", TIMESTAMP, FIRST - hour, 0, "yyyy", zone="+01:00")
    beyond = edges("DateFormatClass", TIMESTAMP, FIRST - hour - 1, 0, "yyyy", zone="+01:00")
    assert beyond == (None, None)
