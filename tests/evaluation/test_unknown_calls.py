"""Calls of supported functions whose arguments make the result unknown in every file."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tamis.expr.nodes import CalendarInterval, Call, Literal
from tamis.expr.sql import to_sql
from tamis.expr.types import (
    BOOLEAN,
    CALENDAR_INTERVAL,
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    YEAR_MONTH_INTERVAL,
    decimal,
)
from tests.differential.exact_claims import DAY, claim_over, columns_of, table_of
from tests.evaluation.test_exact_bounds import at, call, d, day, f, i, n, other, s, ts, x

YEARS = 20_000 * 366 * DAY


def interval(months: int, days: int, micros: int) -> Literal:
    return Literal(CalendarInterval(months, days, micros), CALENDAR_INTERVAL)


UNKNOWN: tuple[Call, ...] = (
    # Units and weekdays that do not exist.
    *(call("TruncDate", DATE, day, unit) for unit in ("DAY", "HOUR", "", "Q")),
    *(call("TruncTimestamp", TIMESTAMP, unit, ts) for unit in ("DECADE", "", "MO")),
    *(call("NextDay", DATE, day, name) for name in ("", "M", "MOO")),
    *(call("TimestampAdd", TIMESTAMP, 1, ts, unit=unit) for unit in ("DECADE", "")),
    *(call("TimestampDiff", LONG, at(1), ts, unit=unit) for unit in ("DECADE", "")),
    # Steps that may pass the end of the type from any value.
    *(call("TimestampAdd", TIMESTAMP, count, ts, unit=unit) for unit, count in (("YEAR", 20_000), ("MONTH", -240_000), ("DAY", 20_000 * 366), ("WEEK", -2_000_000))),
    call("TimestampAddInterval", TIMESTAMP, ts, Literal(YEARS, DAY_TIME_INTERVAL)),
    call("TimestampAddYMInterval", TIMESTAMP, ts, Literal(240_000, YEAR_MONTH_INTERVAL)),
    *(call("DateAddInterval", DATE, day, interval(*parts)) for parts in ((0, 0, 1), (240_000, 0, 0), (0, 20_000 * 366, 0))),
    call("TimestampAddInterval", TIMESTAMP, ts, Literal(5, YEAR_MONTH_INTERVAL)),
    call("TimestampAddYMInterval", TIMESTAMP, ts, Literal(5, DAY_TIME_INTERVAL)),
    # A type other than that of the column.
    call("TimestampAdd", TIMESTAMP_NTZ, 1, ts, unit="DAY"),
    call("SubtractTimestamps", DAY_TIME_INTERVAL, ts, at(1, TIMESTAMP_NTZ)),
    call("TimestampDiff", LONG, ts, at(1, TIMESTAMP_NTZ), unit="DAY"),
    # Invalid bases and exponents.
    *(call("Logarithm", DOUBLE, base, d) for base in (0.0, 1.0, -2.0, math.inf)),
    *(call("Pow", DOUBLE, d, exponent) for exponent in (0.0, math.inf, -math.inf, math.nan)),
    *(call("Pow", DOUBLE, base, d) for base in (0.0, 1.0, -2.0, math.inf)),
    call("Pow", DOUBLE, d, other(d)),
    call("Logarithm", DOUBLE, other(d), d),
    # More digits than the type has.
    *(call("Round", DOUBLE, d, scale) for scale in (16, -16)),
    call("Multiply", decimal(11, 3), n, n),
    call("Add", decimal(12, 1), n, Literal(None, decimal(4, 3))),
    # Parts that may not make a valid date.
    *(call("MakeDate", DATE, i, month, day_) for month, day_ in ((0, 5), (13, 5), (2, 29), (2, 0))),
    # Patterns and texts that are not constant or are malformed.
    *(call(name, BOOLEAN, s, other(s)) for name in ("StartsWith", "EndsWith", "Contains")),
    *(call("Like", BOOLEAN, s, pattern, escapeChar="\\") for pattern in ("a\\", "\\b%")),
    *(call("Like", BOOLEAN, s, "a%", escapeChar=escape) for escape in ("", "ab")),
    *(call("RLike", BOOLEAN, s, pattern) for pattern in ("a", "^(a", "^a|b", "^(?i)a", "^a[", "^a{")),
    call("Substring", STRING, s, other(i), 2),
    call("Substring", STRING, s, 1, other(i)),
    call("Substring", STRING, x, 1, 2),
    call("StringTrim", STRING, x),
    call("Upper", STRING, x),
    call("Concat", STRING, s, x),
    call("Coalesce", DOUBLE, d, f),
    call("Greatest", DOUBLE, d, f),
    call("If", DOUBLE, Literal(True, BOOLEAN), d, f),
    call("CaseWhen", DOUBLE, Literal(True, BOOLEAN), f, d),
    call("NaNvl", DOUBLE, d, f),
)  # fmt: skip


def _id(value: Any) -> str:
    return f"{to_sql(value)} {value.option('unit') or ''}{value.option('escapeChar') or ''}"


@pytest.mark.parametrize("tried", UNKNOWN, ids=_id)
def test_call_gives_no_bounds(tried: Call) -> None:
    table = table_of(columns_of(tried))
    claim = claim_over(tried, table)
    for place, rows in enumerate(table.rows):
        only_null = any(
            all(row[column.path] is None for row in rows) for column in columns_of(tried)
        )
        assert only_null or not claim.says_anything[place], claim.describe(place, None, rows[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_wrong_number_of_arguments_gives_no_bounds(count: int) -> None:
    for name, result in (("Log", DOUBLE), ("Abs", INTEGER), ("MakeDate", DATE), ("IsNaN", BOOLEAN)):
        if (name == "MakeDate" and count == 3) or (name != "MakeDate" and count == 1):
            continue
        column = d if name in ("Log", "IsNaN") else i
        tried = call(name, result, *[column] * count)
        assert not any(claim_over(tried, table_of((column,))).says_anything)
