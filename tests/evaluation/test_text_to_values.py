"""CAST of strings between two edges: every pair of edges from a few dozen strings.

The reference is a simple second implementation: which of the strings below Spark reads as a date, a
timestamp or a number.
"""

from __future__ import annotations

import datetime
import re
from decimal import ROUND_HALF_UP, Decimal
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from tamis.expr.nodes import Column
from tamis.expr.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tests.differential.exact_claims import DAY, claim_over, edge_of, table_over
from tests.evaluation.test_exact_bounds import cast

s = Column(("s",), STRING)
HOUR = DAY // 24
MOMENTS = sorted(
    [
        "2023-12-31", "2024", "2024-", "2024-0", "2024-1", "2024-01", "2024-1-", "2024-1-5", "2024-01-1", "2024-01-01", "2024-01-05",
        "2024-01-31", "2024-01-32", "2024-1-5T", "2024-01-05T00:00:00", "2024-01-05T10:00:00.5", "2024-02-28", "2024-02-29",
        "2024-02-30", "2024-2-9", "2024-05", "2024-05-1", "2024-05-10", "2024-05-19", "2024-05-20", "2024-05-2", "2024-05-3",
        "2024-05-30", "2024-05-31", "2024-06-1", "2024-7-1", "2024-09-30", "2024-1-15", "2024-10-1", "2024-10-10", "2024-11-30",
        "2024-12", "2024-12-1", "2024-12-31", "2024-12-31T23:59:59.999999", "2024-13-01", "2024-12-31T23:59:59+18:00",
        "2024-01-01T00:00:00-18:00", "2024-01-01T00:00:00+18:00", "2025-01-01", "2024/01/05", "2024x", "20245-01-01",
        "0000-01-01", "0001-01-01", "2024-05-15T01:02:03", "2024-05-15T01:02:03.12", "2024-05-15T24:00:00", "9999-12-31",
        "2024-01-05 00:00:00", "2024-01-05 10:00:00.000001", "2024-12-31 23:59:59", "", "2024-05-15 1:2:3",
    ]
)  # fmt: skip


def date_of(text: str) -> int | None:
    match = re.fullmatch(r"(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", text)
    if match is None:
        return None
    if len(match[1]) > 4:
        return (
            None if match[2] is None else int(np.datetime64("2024-01-01", "D").astype(int)) + 10**6
        )
    try:
        parsed = datetime.date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return None
    return parsed.toordinal() - datetime.date(1970, 1, 1).toordinal()


def moment_of(text: str, with_zone: bool) -> int | None:
    day, clock = date_of(text), re.split(r"[ T]", text, maxsplit=1)[1:]
    if day is None or not clock or not clock[0]:
        return None if day is None else day * DAY
    match = re.fullmatch(r"(\d\d?):(\d\d?):(\d\d?)(?:\.(\d{1,6}))?([+-]\d\d:00)?", clock[0])
    if match is None or int(match[1]) > 23:
        return None
    micros = ((int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])) * 1_000_000
    offset = int(match[5][:3]) * HOUR if match[5] and with_zone else 0
    return day * DAY + micros + int((match[4] or "0").ljust(6, "0")) - offset


READ = {
    DATE: date_of,
    TIMESTAMP: lambda text: moment_of(text, True),
    TIMESTAMP_NTZ: lambda text: moment_of(text, False),
}


@pytest.mark.parametrize("mode", ["LEGACY", "TRY", "ANSI"])
@pytest.mark.parametrize("data_type", READ, ids=str)
def test_moment_of_every_string_lies_within_the_bounds(data_type: DataType, mode: str) -> None:
    pairs = list(combinations_with_replacement(MOMENTS, 2))
    between = [tuple(text for text in MOMENTS if low <= text <= high) for low, high in pairs]
    tried = cast(s, data_type, mode)
    claim = claim_over(tried, table_over((s,), [(texts,) for texts in between]))
    read = READ[data_type]
    bounded = 0
    for place, texts in enumerate(between):
        if not claim.says_anything[place]:
            continue
        bounded += 1
        values = [read(text) for text in texts]
        assert claim.can_be_null[place] or None not in values, texts
        assert mode != "ANSI" or None not in values, texts
        moments = [each for each in values if each is not None]
        if moments:
            assert claim.lower[place] <= min(moments), (texts, claim.lower[place])
            assert max(moments) <= claim.upper[place], (texts, claim.upper[place])
    assert bounded > (400 if mode != "ANSI" else 20)


def days(text: str) -> int:
    return int(np.datetime64(text, "D").astype(np.int64))


#: Two strings, and the first and last date of all strings between them. "2024-05-1T" sorts after
#: "2024-05-10" and is the first of May.
DATES = [
    ("2024-05-10", "2024-05-20", "2024-05-01", "2024-05-20"),
    ("2024-05-15", "2024-05-15", "2024-05-15", "2024-05-15"),
    ("2024-05-10", "2024-07-20", "2024-05-01", "2024-07-31"),
    ("2024-10-10", "2024-12-20", "2024-10-01", "2024-12-31"),
    ("2024-02-10", "2024-02-99", "2024-02-01", "2024-02-29"),
    ("2023-02-10", "2023-02-29", "2023-02-01", "2023-02-28"),
    ("2024-05-15", "2024-05-19", "2024-05-15", "2024-05-19"),
    ("2024-05-05", "2024-05-35", "2024-05-01", "2024-05-31"),
    ("2024-01-01", "2024-12-31", "2024-01-01", "2024-12-31"),
    ("2024-05-1", "2024-05-2", "2024-05-01", "2024-05-31"),
    ("2024-1", "2024-3", "2024-01-01", "2024-12-31"),
    ("2024-", "2024-99", "2024-01-01", "2024-12-31"),
    ("0001-05-10", "0001-05-20", "0001-05-01", "0001-05-20"),
    ("1987-05-10", "1987-05-20", "1987-05-01", "1987-05-20"),
    ("1996-02-10", "1996-02-99", "1996-02-01", "1996-02-29"),
    ("1900-02-10", "1900-02-99", "1900-02-01", "1900-02-28"),
    ("1999-09-10", "1999-09-19", "1999-09-10", "1999-09-19"),
    ("9999-09-05", "9999-09-09", "9999-09-05", "9999-09-09"),
    ("0999-09-19", "0999-09-29", "0999-09-01", "0999-09-29"),
    ("2024-09-30", "2024-09-31", "2024-09-30", "2024-09-30"),
    ("2024-08-10", "2024-09-19", "2024-08-01", "2024-09-30"),
    # Other characters where digits are expected.
    ("2024-05-1a", "2024-05-1b", "2024-05-01", "2024-05-31"),
    ("2024-05-:0", "2024-05-:9", "2024-05-01", "2024-05-31"),
    ("2024-05-/0", "2024-05-/9", "2024-05-01", "2024-05-31"),
    ("2024-0:", "2024-0;", "2024-01-01", "2024-12-31"),
    ("2024-0a-10", "2024-0a-20", "2024-01-01", "2024-12-31"),
    ("2024-05x10", "2024-05x20", "2024-05-01", "2024-05-31"),
    ("2024-05", "2024-05-10", "2024-05-01", "2024-05-31"),
    ("2024-05-", "2024-05-10", "2024-05-01", "2024-05-31"),
    ("2024-05-10", "2024-05.10", "2024-05-01", "2024-05-31"),
    ("2024-/1", "2024-/2", "2024-01-01", "2024-12-31"),
    ("2024-/5-10", "2024-/5-20", "2024-01-01", "2024-12-31"),
]


@pytest.mark.parametrize(("lower", "upper", "first", "last"), DATES)
def test_dates_within_one_year_are_bounded(lower: str, upper: str, first: str, last: str) -> None:
    table = table_over((s,), [((lower, upper),), ((lower, upper, None),)])
    for mode in ("LEGACY", "TRY"):
        single = lower == upper
        claim = claim_over(cast(s, DATE, mode), table)
        assert (claim.lower[0], claim.upper[0]) == (days(first), days(last))
        assert claim.can_be_null == [not single, True]
        claim = claim_over(cast(s, TIMESTAMP_NTZ, mode), table)
        end = days(last) * DAY + (0 if single else DAY - 1)
        assert (claim.lower[0], claim.upper[0]) == (days(first) * DAY, end)
        claim = claim_over(cast(s, TIMESTAMP, mode), table)
        wider = 0 if single else 18 * HOUR
        assert (claim.lower[0], claim.upper[0]) == (days(first) * DAY - wider, end + wider)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        ("2023-12-31", "2024-01-01"),
        ("2024", "2024-05"),
        ("0000-05-10", "0000-05-20"),
        ("20240", "20241"),
        ("2024x", "2024y"),
        ("20a4-01-01", "20a4-01-02"),
        ("202x-01-01", "202x-01-02"),
        (" 2024-01-01", " 2024-01-02"),
    ],
)
def test_dates_across_years_are_unknown(lower: str, upper: str) -> None:
    table = table_over((s,), [((lower, upper),)])
    for data_type in READ:
        assert not claim_over(cast(s, data_type, "TRY"), table).says_anything[0]


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2024-01-05", 0),
        ("2024-01-05 06", None),
        ("2024-01-05 06:07", None),
        ("2024-01-05 06:07:08", 22_028_000_000),
        ("2024-01-05 06:07:08.", None),
        ("2024-01-05 06:07:08.1", 22_028_100_000),
        ("2024-01-05 06:07:08.12", 22_028_120_000),
        ("2024-01-05 06:07:08.123", 22_028_123_000),
        ("2024-01-05 06:07:08.1234", 22_028_123_400),
        ("2024-01-05 06:07:08.12345", 22_028_123_450),
        ("2024-01-05 06:07:08.123456", 22_028_123_456),
        ("2024-01-05 06:07:08.1234567", None),
    ],
)
def test_moment_of_one_text_in_a_plain_form(text: str, micros: int | None) -> None:
    """ANSI mode has no bounds for other forms, which may raise."""
    claim = claim_over(cast(s, TIMESTAMP_NTZ, "ANSI"), table_over((s,), [((text,),)]))
    if micros is None:
        assert not claim.says_anything[0]
    else:
        moment = days("2024-01-05") * DAY + micros
        assert (claim.lower[0], claim.upper[0]) == (moment, moment)


#: A string and its number, with nine digits after the point. None: Spark does not read it.
NUMBERS: list[tuple[str, str | None]] = [
    *(
        (text, text)
        for text in ("0", "-0", "7", "007", "127", "128", "-128", "-129", "32767", "32768")
    ),
    *(
        (text, text)
        for text in ("2147483647", "2147483648", "999999999999999999", "-999999999999999999")
    ),
    ("1000000000000000000", None),
    *(
        (text, None)
        for text in (
            "",
            "-",
            "+5",
            " 5",
            "5 ",
            "1e3",
            "5.",
            ".5",
            "0x1",
            "NaN",
            "5d",
            "5\n",
            "5\0",
            "٣",
        )
    ),
]
FRACTIONS: list[tuple[str, str | None]] = [
    *((text, text) for text in ("0", "-0.5", "0.25", "1.5", "007.50", "999999999.999999999", "-3.000000001", "16777217", "0.1")),
    *((text, None) for text in ("1.", ".5", "1.0000000001", "1234567890.5", "1,5", "1.5e1", "1.5\n", "--1")),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["LEGACY", "TRY", "ANSI"])
@pytest.mark.parametrize("data_type", [BYTE, SHORT, INTEGER, LONG], ids=str)
def test_texts_as_whole_numbers(data_type: DataType, mode: str) -> None:
    for text, written in NUMBERS:
        claim = claim_over(
            cast(s, data_type, mode), table_over((s,), [((text,),), ((text, None),)])
        )
        least, greatest = data_type.domain
        fits = written is not None and least <= int(written) <= greatest
        if fits:
            value = int(written or 0)
            assert [claim.lower, claim.upper] == [[value] * 2] * 2, text
            assert claim.can_be_null == [False, True], text
            assert claim.can_be_value == [True, True], text
        elif written is None or mode == "ANSI":
            assert not any(claim.says_anything), text
        else:
            assert claim.can_be_null == [True, True], text


@pytest.mark.parametrize(
    "data_type", [DOUBLE, FLOAT, decimal(18, 9), decimal(5, 1), decimal(12, 2)], ids=str
)
def test_texts_as_fractions(data_type: DataType) -> None:
    for text, written in [*FRACTIONS, *NUMBERS[:8]]:
        tried = cast(s, data_type, "TRY")
        claim = claim_over(tried, table_over((s,), [((text,),), ((text, None),)]))
        if written is None:
            assert not any(claim.says_anything), text
            continue
        edges = [edge_of(each[0], tried) for each in (claim.lower, claim.upper)]
        if data_type.is_decimal:
            unit = Decimal(1).scaleb(-(data_type.scale or 0))
            exact = Decimal(written).quantize(unit, ROUND_HALF_UP)
            if abs(exact) < 10 ** ((data_type.precision or 0) - (data_type.scale or 0)):
                assert edges == [exact, exact], text
                assert claim.can_be_null == [False, True], text
            else:
                assert claim.can_be_null == [True, True], text
            continue
        assert claim.can_be_null == [False, True], text
        if data_type == DOUBLE:
            assert edges == [float(written)] * 2, text
        else:
            near = np.float32(written)
            low, high = (np.nextafter(near, np.float32(end)) for end in (-np.inf, np.inf))
            assert float(low) <= edges[0] <= float(near) <= edges[1] <= float(high), text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, True) for text in ("t", "true", "y", "yes", "1", "T", "TRUE", "Yes")),
        *((text, False) for text in ("f", "false", "n", "no", "0", "F", "False", "NO")),
        *((text, None) for text in ("", "tr", "2", "on", "true ", "yess", "t\0", "\u0131")),
    ],
)
def test_texts_as_booleans(text: str, value: bool | None) -> None:
    claim = claim_over(cast(s, BOOLEAN, "TRY"), table_over((s,), [((text,),), ((text, None),)]))
    if value is None:
        assert not any(claim.says_anything)
    else:
        assert [claim.lower, claim.upper] == [[int(value)] * 2] * 2
        assert claim.can_be_null == [False, True]


@pytest.mark.parametrize("data_type", [LONG, DOUBLE, decimal(9, 2), BOOLEAN], ids=str)
def test_several_texts_give_no_bounds(data_type: DataType) -> None:
    several: list[tuple[Any, ...]] = [("1", "2"), ("f", "t"), ("10", "100")]
    claim = claim_over(cast(s, data_type, "TRY"), table_over((s,), [(each,) for each in several]))
    assert not any(claim.says_anything)
