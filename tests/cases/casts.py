"""CAST, by source and target type."""

from __future__ import annotations

import datetime
from decimal import Decimal

from tamis.expr.nodes import Call, Expr, IsNull, Not
from tamis.expr.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tests.cases.case import Case
from tests.cases.comparison import NAN, d, day, i, l, n, ntz, s, ts
from tests.cases.functions import DAY, JANUARY, is_


def cast(argument: Expr, to: DataType, mode: str = "LEGACY", zone: str = "UTC") -> Call:
    return Call("Cast", (argument,), (("timeZoneId", zone), ("evalMode", mode)), to)


def try_cast(argument: Expr, to: DataType) -> Call:
    return cast(argument, to, "TRY")


def never_null(call: Call) -> Expr:
    return Not(IsNull(call))


byte, try_byte, ansi_byte = cast(i, BYTE), try_cast(i, BYTE), cast(i, BYTE, "ANSI")
whole, try_whole = cast(d, INTEGER), try_cast(d, INTEGER)
tenths, date_of, try_date = cast(n, decimal(3, 1)), cast(s, DATE), try_cast(s, DATE)
number, moment_of = cast(s, INTEGER), cast(s, TIMESTAMP)


def _days(text: str) -> int:
    return (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days


def on(call: Call, op: str, text: str) -> Expr:
    return is_(op, call, _days(text))


CASES = (
    # A narrower type: 300 wraps around to 44; TRY_CAST gives NULL.
    Case(
        i,
        data=(300, 310),
        hits=(is_("=", byte, 44), is_("=", ansi_byte, 44)),
        misses=(is_("=", byte, 43), is_(">", byte, 54), is_("=", try_byte, 44)),
        full=(is_(">=", byte, 44), IsNull(try_byte)),
    ),
    # The values cross a wrap-around of the type, so any result is possible.
    Case(
        i, data=(100, 300), hits=(is_("=", byte, -128), IsNull(try_byte), is_("=", try_byte, 127))
    ),
    Case(i, data=(100, 300), misses=(is_("<", try_byte, 100),)),
    Case(i, data=(100, 120), full=(never_null(try_byte), is_(">=", ansi_byte, 100))),
    Case(l, data=(-(1 << 63), (1 << 63) - 1), hits=(is_("=", cast(l, BYTE), 5),)),
    # Floating-point numbers saturate and are truncated toward zero; NaN becomes 0, or NULL.
    Case(
        d,
        data=(1e10, 1e12),
        misses=(is_("<", whole, (1 << 31) - 1),),
        full=(is_("=", whole, (1 << 31) - 1), IsNull(try_whole)),
    ),
    Case(d, data=(-1.9, 2.9), misses=(is_("<", whole, -1), is_(">", whole, 2))),
    Case(
        d,
        data=(5.5, NAN),
        hits=(is_("=", whole, 0), IsNull(try_whole)),
        misses=(is_("=", whole, 6),),
    ),
    Case(
        d,
        data=(NAN,),
        full=(is_("=", whole, 0), IsNull(try_whole), is_("=", cast(d, BOOLEAN), True)),
    ),
    Case(d, data=(0.5, 2.5), full=(is_("=", cast(d, BOOLEAN), True),)),
    Case(d, data=(0.0, 2.5), hits=(is_("=", cast(d, BOOLEAN), False),)),
    # Decimals round half up and become NULL beyond their digits.
    Case(
        n,
        data=(Decimal("1.25"), Decimal("7.24")),
        misses=(is_("<", tenths, Decimal("1.3")), is_(">", tenths, Decimal("7.2"))),
        full=(never_null(tenths),),
    ),
    Case(n, data=(Decimal("99.94"), Decimal("99.95")), hits=(IsNull(tenths),)),
    Case(n, data=(Decimal("100.00"), Decimal("200.00")), full=(IsNull(tenths),)),
    # Text sorts by its characters: "10" < "9".
    Case(
        i,
        data=(10, 99),
        misses=(is_("=", cast(i, STRING), "99x"), is_("<", cast(i, STRING), "10")),
        full=(is_(">=", cast(i, STRING), "10"),),
    ),
    Case(i, data=(9, 10), hits=(is_("=", cast(i, STRING), "95"),)),
    Case(i, data=(-20, -10), misses=(is_("<", cast(i, STRING), "-10"),)),
    Case(d, data=(2.5,), full=(is_("=", cast(d, STRING), "2.5"),)),
    Case(d, data=(2.5, 2.5, NAN), hits=(is_("=", cast(d, STRING), "nan"),)),
    Case(n, data=(Decimal("-0.50"),), full=(is_("=", cast(n, STRING), "-0.50"),)),
    # Strings: a single one in plain form.
    Case(
        s,
        data=("17", "17"),
        misses=(is_("=", number, 16), IsNull(number)),
        full=(is_("=", number, 17), is_("=", cast(s, DOUBLE), 17.0)),
    ),
    Case(s, data=("17", "18"), hits=(is_("=", number, 175), IsNull(number))),
    Case(
        s, data=("300",), full=(IsNull(cast(s, BYTE)),), hits=(is_("=", cast(s, BYTE, "ANSI"), 44),)
    ),
    Case(s, data=("1.5",), full=(is_("=", cast(s, decimal(3, 0)), Decimal(2)),)),
    Case(s, data=("T",), full=(is_("=", cast(s, BOOLEAN), True),)),
    # Dates as text: a single one, or several of one year, where text that is not a date is NULL.
    Case(
        s,
        data=("2024-01-05", "2024-01-05"),
        misses=(on(date_of, "=", "2024-01-04"), IsNull(date_of)),
        full=(
            on(date_of, "=", "2024-01-05"),
            on(cast(s, DATE, "ANSI"), "=", "2024-01-05"),
            is_("=", moment_of, _days("2024-01-05") * DAY),
            is_("=", cast(s, TIMESTAMP_NTZ), _days("2024-01-05") * DAY),
        ),
    ),
    Case(
        s,
        data=("2024-01-05", "2024-01-20"),
        # "2024-01-1" and "2024-01-1x" both lie between the edges.
        hits=(
            on(date_of, "=", "2024-01-01"),
            IsNull(date_of),
            on(cast(s, DATE, "ANSI"), "=", "2025-01-01"),
        ),
        misses=(on(date_of, ">", "2024-01-20"), on(try_date, "<", "2024-01-01")),
    ),
    Case(
        s,
        data=("2024-01-05", "2024-02-01"),
        hits=(on(date_of, "=", "2024-02-29"),),
        misses=(on(date_of, ">", "2024-02-29"), on(date_of, "<", "2024-01-01")),
    ),
    # Text with the year 20239 sorts between the edges.
    Case(s, data=("2023-12-31", "2024-01-05"), hits=(is_(">", date_of, 4_000_000),)),
    # A time zone in the text moves the result by more than a day in either direction.
    Case(
        s,
        data=("2024-01-05", "2024-01-20"),
        hits=(is_("<", moment_of, JANUARY * DAY),),
        misses=(is_("<", moment_of, (JANUARY - 1) * DAY),),
    ),
    # Dates and timestamps.
    Case(
        day,
        data=(0, 1),
        misses=(is_(">", cast(day, TIMESTAMP_NTZ), DAY), is_("=", cast(day, STRING), "1970-01-03")),
        full=(is_("<=", cast(day, TIMESTAMP), DAY), is_(">=", cast(day, STRING), "1970-01-01")),
    ),
    Case(
        ts,
        data=(DAY, DAY + 1),
        full=(is_("=", cast(ts, INTEGER), 86_400), is_("=", cast(ts, DATE), 1)),
    ),
    Case(ts, data=(0, 1), hits=(is_("=", cast(ts, BOOLEAN), False),)),
    Case(
        ntz, data=(-1, -1), full=(is_("=", cast(ntz, DATE), -1), is_("=", cast(ntz, TIMESTAMP), -1))
    ),
    # Numbers as timestamps.
    Case(l, data=(-1, 2), misses=(is_("<", cast(l, TIMESTAMP), -1_000_000),)),
    Case(n, data=(Decimal("-1.50"),), full=(is_("=", cast(n, TIMESTAMP), -1_500_000),)),
    # Text that is not a boolean is NULL, whatever its characters.
    Case(s, data=("abc", "abc"), hits=(IsNull(cast(s, BOOLEAN)),)),
    Case(s, data=("a", "z"), hits=(is_("=", cast(s, BOOLEAN), True), IsNull(cast(s, BOOLEAN)))),
    Case(
        s,
        data=("yes", "yes"),
        misses=(is_("=", cast(s, BOOLEAN), False),),
        full=(cast(s, BOOLEAN),),
    ),
    Case(s, data=("F", "F"), misses=(cast(s, BOOLEAN),), full=(Not(cast(s, BOOLEAN)),)),
)
