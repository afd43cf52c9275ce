"""Values converted to text, and moments parsed with a format."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from itertools import combinations_with_replacement
from typing import Any

import pytest

from tamis.expr.nodes import Column, Literal
from tamis.expr.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tests.differential.exact_claims import DAY, claim_over, table_over
from tests.evaluation.test_exact_bounds import call, cast

s = Column(("s",), STRING)
WHOLE = (-1000, -999, -100, -99, -10, -9, -1, 0, 1, 9, 10, 99, 100, 101, 999, 1000, 12_345)


@pytest.mark.parametrize("data_type", [INTEGER, LONG], ids=str)
def test_text_of_numbers_of_equal_length_has_bounds(data_type: DataType) -> None:
    column = Column(("c",), data_type)
    pairs = list(combinations_with_replacement(WHOLE, 2))
    claim = claim_over(
        cast(column, STRING, "LEGACY"), table_over((column,), [(each,) for each in pairs])
    )
    for place, (low, high) in enumerate(pairs):
        same_length = len(str(low)) == len(str(high)) and (low < 0) == (high < 0)
        texts = sorted(str(each).encode() for each in (low, high)) if same_length else [None, None]
        assert [claim.lower[place], claim.upper[place]] == texts, (low, high)
        assert claim.can_be_null[place] is False


@pytest.mark.parametrize(
    ("data_type", "value", "text"),
    [
        (DOUBLE, 1.5, b"1.5"),
        (DOUBLE, -2.25, b"-2.25"),
        (DOUBLE, 7.0, b"7.0"),
        (DOUBLE, -0.75, b"-0.75"),
        (DOUBLE, 9_999_999.0, b"9999999.0"),
        (DOUBLE, 9_999_999.5, b"9999999.5"),
        (DOUBLE, 1_048_576.25, b"1048576.25"),
        (FLOAT, 0.25, b"0.25"),
        (FLOAT, 1_048_575.25, b"1048575.25"),
        (FLOAT, 1_048_576.25, None),  # Java writes 1048576.2
        (FLOAT, 1_048_576.5, b"1048576.5"),
        *(
            (data_type, value, None)
            for data_type in (DOUBLE, FLOAT)
            for value in (0.0, -0.0, 0.1, 0.125, 1e7, -1e7, math.inf)
        ),
        (BOOLEAN, True, b"true"),
        (BOOLEAN, False, b"false"),
        (decimal(9, 2), Decimal("1.50"), b"1.50"),
        (decimal(9, 2), Decimal("-0.05"), b"-0.05"),
        (decimal(9, 6), Decimal("1.5"), b"1.500000"),
        (decimal(9, 0), Decimal(7), b"7"),
        (decimal(9, 7), Decimal("1.5"), None),
    ],
    ids=str,
)
def test_text_of_a_single_value_is_exact(
    data_type: DataType, value: Any, text: bytes | None
) -> None:
    column = Column(("c",), data_type)
    table = table_over((column,), [((value,),), ((value, None),), ((None,),)])
    claim = claim_over(cast(column, STRING, "LEGACY"), table)
    assert [claim.lower[0], claim.upper[0]] == [text, text]
    assert claim.can_be_null == [False, True, True]
    assert claim.can_be_value == [True, True, False]


def test_text_of_two_values_is_known_only_for_booleans() -> None:
    d, n, flag = Column(("d",), DOUBLE), Column(("n",), decimal(9, 2)), Column(("f",), BOOLEAN)
    for column, values in ((d, (1.5, 2.5)), (d, (1.5, math.nan)), (n, (Decimal(1), Decimal(2)))):
        claim = claim_over(cast(column, STRING, "LEGACY"), table_over((column,), [(values,)]))
        assert (claim.lower[0], claim.upper[0]) == (None, None)
        assert claim.can_be_value[0]
    claim = claim_over(cast(flag, STRING, "LEGACY"), table_over((flag,), [((False, True),)]))
    assert (claim.lower[0], claim.upper[0]) == (b"false", b"true")


def micros(*parts: int) -> int:
    return (datetime.datetime(*parts) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(
        microseconds=1
    )  # type: ignore[arg-type]


#: A format, a text, and the moment. None: not parsed, so nothing is known.
READ: list[tuple[str, str, int | None]] = [
    ("yyyy-MM-dd", "2024-02-29", micros(2024, 2, 29)),
    ("dd.MM.yyyy", "29.02.2024", micros(2024, 2, 29)),
    ("yyyy", "2024", micros(2024, 1, 1)),
    ("yyyy-MM", "2024-05", micros(2024, 5, 1)),
    ("yyyy-MM-dd HH:mm:ss", "2024-02-29 23:59:59", micros(2024, 2, 29, 23, 59, 59)),
    ("HH:mm yyyy-MM-dd", "23:59 2024-02-28", micros(2024, 2, 28, 23, 59)),
    ("yyyyMMddHHmmss", "20240229010203", micros(2024, 2, 29, 1, 2, 3)),
    ("yyyy-MM-dd", "1900-01-01", micros(1900, 1, 1)),
    ("yyyy-MM-dd HH:mm:ss", "1969-12-31 23:59:59", -1_000_000),
    ("yyyy-MM-dd", "1899-12-31", None),
    ("yyyy-MM-dd", "2023-02-29", None),
    ("yyyy-MM-dd", "2024-2-9", None),
    ("yyyy-MM-dd", "2024-02-29 ", None),
    ("yyyy-MM-dd", "2024/02/29", None),
    ("yyyy-MM-dd HH:mm:ss", "2024-02-29 24:00:00", None),
    ("yyyy-MM-dd HH:mm:ss", "2024-02-29 00:60:00", None),
    ("yyyy-MM-dd HH:mm:ss", "2024-02-29 00:00:60", None),
    ("MM-dd", "02-29", None),
    ("yyyy-M-d", "2024-2-9", None),
    ("yyyy-MM-yyyy", "2024-02-2024", None),
    ("yyyy-MM-dd'T'", "2024-02-29T", None),
]


@pytest.mark.parametrize(("pattern", "text", "moment"), READ)
@pytest.mark.parametrize(
    "name", ["GetTimestamp", "GetTimestampNTZ", "UnixTimestamp", "ToUnixTimestamp"]
)
def test_text_is_parsed_with_the_format(
    name: str, pattern: str, text: str, moment: int | None
) -> None:
    result = LONG if "Unix" in name else TIMESTAMP_NTZ if name.endswith("NTZ") else TIMESTAMP
    for zone, hours in (("UTC", 0), ("+02:00", 2)):
        tried = call(name.removesuffix("NTZ"), result, s, pattern, timeZoneId=zone)
        table = table_over((s,), [((text,),), ((text, None),), ((text, text + "0"),)])
        claim = claim_over(tried, table)
        if moment is None:
            assert not any(claim.says_anything)
            continue
        expected = moment if result == TIMESTAMP_NTZ else moment - hours * DAY // 24
        if result == LONG:
            expected = int(expected / 1_000_000)
        assert [claim.lower[:2], claim.upper[:2]] == [[expected] * 2] * 2
        assert claim.can_be_null[:2] == [False, True]
        assert not claim.says_anything[2]


@pytest.mark.parametrize("name", ["GetTimestamp", "UnixTimestamp"])
def test_text_is_parsed_from_1900_to_2036_where_clocks_change(name: str) -> None:
    """Elsewhere java.util.TimeZone (timeParserPolicy LEGACY) differs from java.time in some zones."""
    days = ("1900-01-01", "1900-01-02", "2036-12-30", "2036-12-31", "2050-07-01")
    table = table_over((s,), [((day,),) for day in days])
    for zone, is_known in (("Africa/Windhoek", False), ("+02:00", True)):
        result = LONG if "Unix" in name else TIMESTAMP
        claim = claim_over(call(name, result, s, "yyyy-MM-dd", timeZoneId=zone), table)
        assert list(claim.says_anything) == [is_known, True, True, is_known, is_known]


@pytest.mark.parametrize(
    ("name", "result", "unit"), [("GetTimestamp", TIMESTAMP, 1), ("UnixTimestamp", LONG, 1_000_000)]
)
def test_time_that_comes_twice_is_either_of_two_moments(
    name: str, result: DataType, unit: int
) -> None:
    """The clocks of New York were set back on 2024-11-03, at 06:00 UTC."""
    tried = call(name, result, s, "yyyy-MM-dd HH:mm", timeZoneId="America/New_York")
    claim = claim_over(
        tried, table_over((s,), [(("2024-11-03 01:30",),), (("2024-11-03 02:30",),)])
    )
    first, second, later = (micros(2024, 11, 3, hour, 30) // unit for hour in (5, 6, 7))
    assert [claim.lower, claim.upper] == [[first, later], [second, later]]


@pytest.mark.parametrize("data_type", [TIMESTAMP, TIMESTAMP_NTZ], ids=str)
def test_seconds_preserve_their_fraction(data_type: DataType) -> None:
    column = Column(("c",), data_type)
    minute = 60_000_000
    pairs = [
        (0, 0),
        (5, 7),
        (minute - 1, minute - 1),
        (minute - 1, minute),
        (minute, 2 * minute - 1),
        (-1, -1),
        (-1, 0),
        (-minute, -1),
    ]
    tried = call("SecondWithFraction", decimal(8, 6), column)
    claim = claim_over(tried, table_over((column,), [(each,) for each in pairs]))
    for place, (low, high) in enumerate(pairs):
        one = low // minute == high // minute
        expected = (low % minute, high % minute) if one else (0, minute - 1)
        assert (claim.lower[place], claim.upper[place]) == expected, (low, high)


@pytest.mark.parametrize("unit", ["WEEK", "DD", "DAY", "mon", "YY"])
def test_truncation_to_whole_days(unit: str) -> None:
    """2024-03-13 was a Wednesday."""
    column = Column(("c",), TIMESTAMP)
    first = micros(2024, 3, 13, 5)
    claim = claim_over(
        call("TruncTimestamp", TIMESTAMP, Literal(unit, STRING), column),
        table_over((column,), [((first, first + DAY),)]),
    )
    starts = {
        "WEEK": (micros(2024, 3, 11), micros(2024, 3, 11)),
        "mon": (micros(2024, 3, 1), micros(2024, 3, 1)),
        "YY": (micros(2024, 1, 1), micros(2024, 1, 1)),
    }
    expected = starts.get(unit, (micros(2024, 3, 13), micros(2024, 3, 14)))
    assert (claim.lower[0], claim.upper[0]) == expected
