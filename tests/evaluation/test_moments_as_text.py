"""Text of dates and timestamps at the ends of the years 1900 to 9999, and of numbers beyond them."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation.interpreter import value
from tamis.expr.nodes import Call, Column, Expr, Literal
from tamis.expr.types import DATE, DOUBLE, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from tests.differential.calls import written
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
    ("data_type", "pattern"), [(STRING, SECONDS), (DOUBLE, SECONDS), (LONG, "M"), (LONG, "")]
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


def micros(*fields: int) -> int:
    return int((datetime.datetime(*fields) - datetime.datetime(1970, 1, 1)).total_seconds()) * 10**6


@pytest.mark.parametrize(
    ("pattern", "low", "high", "text"),
    [
        ("MM/dd/yyyy", (2024, 2, 3), (2024, 11, 30), ("02/03/2024", "11/30/2024")),
        ("MM/dd/yyyy", (2023, 12, 31), (2024, 1, 1), None),
        ("dd.MM.yyyy", (2024, 2, 3), (2024, 2, 29, 23), ("03.02.2024", "29.02.2024")),
        ("dd.MM.yyyy", (2024, 2, 3), (2024, 3, 3), None),
        ("yyyy-dd", (2024, 2, 3), (2024, 2, 5), ("2024-03", "2024-05")),
        ("yyyy-dd", (2024, 2, 3), (2024, 3, 5), None),
        ("yyyy-dd-MM", (2024, 2, 3), (2024, 2, 5), ("2024-03-02", "2024-05-02")),
        ("HH:mm", (2024, 2, 3, 4), (2024, 2, 3, 23, 1), ("04:00", "23:01")),
        ("HH:mm", (2024, 2, 3, 4), (2024, 2, 4, 5), None),
        ("MM", (2024, 2, 3), (2024, 11, 3), ("02", "11")),
        ("MM", (2023, 12, 3), (2024, 1, 3), None),
        ("mm HH", (2024, 2, 3, 4, 5), (2024, 2, 3, 4, 59), ("05 04", "59 04")),
        ("mm HH", (2024, 2, 3, 4, 5), (2024, 2, 3, 5, 4), None),
        ("MM/MM", (2024, 2, 3), (2024, 11, 3), None),
        ("MM/MM", (2024, 2, 3), (2024, 2, 29), ("02/02", "02/02")),
        ("yyyy yyyy-MM", (2024, 2, 3), (2024, 11, 3), ("2024 2024-02", "2024 2024-11")),
        ("ss mm", (2024, 2, 3, 4, 5, 6), (2024, 2, 3, 4, 5, 6), ("06 05", "06 05")),
    ],
)
def test_patterns_that_sort_where_the_first_fields_are_equal(
    pattern: str, low: tuple[int, ...], high: tuple[int, ...], text: tuple[str, str] | None
) -> None:
    found = edges("DateFormatClass", TIMESTAMP_NTZ, micros(*low), micros(*high), pattern)
    assert found == ((None, None) if text is None else tuple(each.encode() for each in text))


FIELDS = ["yyyy", "MM", "dd", "HH", "mm", "ss"]
UNITS = [1, 60, 3600, 86_400, 86_400 * 31, 86_400 * 366]


@given(
    st.lists(st.sampled_from(FIELDS), min_size=1, max_size=7),
    st.integers(micros(1900, 1, 1), micros(2100, 1, 1)),
    st.sampled_from(UNITS),
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
)
def test_texts_of_the_moments_of_a_container_lie_between_the_edges(
    fields: list[str], low: int, unit: int, places: list[float]
) -> None:
    pattern = " ".join(fields)
    high = low + unit * 3_000_000
    lower, upper = edges("DateFormatClass", TIMESTAMP_NTZ, low, high, pattern)
    for place in (0.0, 1.0, *places):
        moment = low + round((high - low) * place)
        text = written(moment, pattern).encode()
        assert lower is None or lower <= text
        assert upper is None or text <= upper
