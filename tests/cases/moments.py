"""Intervals and differences of dates and timestamps."""

from __future__ import annotations

from tamis.expr.nodes import CalendarInterval, Call, Column, Compare, Comparison, Expr, Literal
from tamis.expr.types import (
    BOOLEAN,
    CALENDAR_INTERVAL,
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    LONG,
    TIMESTAMP,
    DataType,
)
from tests.cases.case import Case
from tests.cases.comparison import day, ts
from tests.cases.functions import DAY, JANUARY, JULY, call, is_

HOUR = DAY // 24
#: 2024-02-29 and 2024-03-31 as days.
LEAP_DAY, END_OF_MARCH = 19_782, 19_813
ROUNDED = Literal(True, BOOLEAN)


def moved(column: Column, months: int, days: int, micros: int) -> Call:
    name = "DateAddInterval" if column.type == DATE else "TimestampAddInterval"
    interval = Literal(CalendarInterval(months, days, micros), CALENDAR_INTERVAL)
    return call(name, column.type, column, interval)


def unit_call(name: str, data_type: DataType, unit: str, *arguments: object) -> Call:
    plain = call(name, data_type, *arguments)
    return Call(name, plain.arguments, (*plain.options, ("unit", unit)), data_type)


def at(days: int) -> Literal:
    return Literal(days * DAY, TIMESTAMP)


def apart(op: str, left: Call, days: int) -> Expr:
    return Compare(Comparison(op), left, Literal(days * DAY, DAY_TIME_INTERVAL))


since_january = call("SubtractDates", DAY_TIME_INTERVAL, day, Literal(JANUARY, DATE))
time_since = call("SubtractTimestamps", DAY_TIME_INTERVAL, ts, at(JANUARY))
months = unit_call("TimestampDiff", LONG, "MONTH", at(JANUARY), ts)
hours = unit_call("TimestampDiff", LONG, "HOUR", at(JANUARY), ts)
next_month = unit_call("TimestampAdd", TIMESTAMP, "MONTH", 1, ts)
months_between = call("MonthsBetween", DOUBLE, ts, at(JANUARY), ROUNDED)

CASES = (
    Case(
        day,
        data=(JANUARY + 1, JANUARY + 9),
        misses=(apart("<", since_january, 1), apart(">", since_january, 9)),
        full=(apart(">=", since_january, 1),),
    ),
    Case(
        ts,
        data=((JANUARY + 40) * DAY, (JANUARY + 50) * DAY),
        hits=(is_("=", months, 1),),
        misses=(apart("<", time_since, 40), is_(">", months, 2), is_("<", months_between, 1.0)),
        full=(is_(">=", hours, 960), is_("<=", hours, 1200), is_("<", months_between, 2.0)),
    ),
    # Both differences round toward zero.
    Case(ts, data=(JANUARY * DAY - HOUR + 1, JANUARY * DAY + HOUR - 1), full=(is_("=", hours, 0),)),
    # Both are the last day of their month: a whole number of months, although 29 < 31.
    Case(
        ts,
        data=(LEAP_DAY * DAY,),
        hits=(is_("=", call("MonthsBetween", DOUBLE, ts, at(END_OF_MARCH), ROUNDED), -1.0),),
    ),
    Case(
        ts,
        data=((JANUARY + 29) * DAY, (JANUARY + 30) * DAY + HOUR),
        # January 30 and January 31 both become February 29.
        misses=(is_("<", next_month, LEAP_DAY * DAY), is_(">=", next_month, (LEAP_DAY + 1) * DAY)),
    ),
    # Months are added first: January 31 becomes February 29, then days are added.
    Case(
        day,
        data=(JANUARY + 29, JANUARY + 30),
        misses=(is_("<", moved(day, 1, 3, 0), LEAP_DAY + 3),),
        full=(is_("=", moved(day, 1, 3, 0), LEAP_DAY + 3),),
    ),
    Case(
        ts,
        data=((JANUARY + 30) * DAY, (JANUARY + 30) * DAY + HOUR),
        misses=(is_(">", moved(ts, 1, 1, HOUR), (LEAP_DAY + 2) * DAY + HOUR),),
        full=(is_(">=", moved(ts, 1, 1, HOUR), (LEAP_DAY + 1) * DAY + HOUR),),
    ),
    Case(
        ts,
        data=(JULY * DAY, JULY * DAY + HOUR),
        full=(is_("<=", call("FromUTCTimestamp", TIMESTAMP, ts, "UTC"), JULY * DAY + HOUR),),
        misses=(is_("<", call("ToUTCTimestamp", TIMESTAMP, ts, "UTC"), (JULY - 1) * DAY),),
    ),
)
