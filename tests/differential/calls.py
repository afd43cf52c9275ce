"""Functions on one row, written as plainly as can be: what rows.py knows of calls.

Modes are LEGACY and the zone is UTC. Written apart from tamis.evaluate, and checked against Spark
by nothing: tests/differential/sweep.py is what compares with Spark.
"""

from __future__ import annotations

import calendar
import datetime
import math
from collections.abc import Callable
from functools import cache
from typing import Any

from tamis.expr.nodes import Call
from tests.differential.keys import order_key

DAY = 86_400_000_000
_CYCLE = 146_097  # days in 400 years, after which the calendar repeats itself


def call_value(call: Call, arguments: list[Any]) -> Any:
    """The value of a call; arguments are values, NULL is None."""
    if call.name in _OF_NULLS:
        return _OF_NULLS[call.name](*arguments)
    if any(argument is None for argument in arguments):
        return None
    found = _on_rows()[call.name](*arguments)
    if call.type.is_integral and isinstance(found, int):
        least, greatest = call.type.domain
        return (found - least) % (greatest - least + 1) + least
    return found


@cache
def _on_rows() -> dict[str, Callable[..., Any]]:
    from tests.cases.tables import ON_ROWS  # which import this file

    return {**_FUNCTIONS, **ON_ROWS}


def _date(days: int) -> tuple[int, datetime.date]:
    """How many times 400 years later than a date of the years 1600 to 1999 the day is."""
    first = datetime.date(1600, 1, 1).toordinal()
    cycles, rest = divmod(days + datetime.date(1970, 1, 1).toordinal() - first, _CYCLE)
    return cycles, datetime.date.fromordinal(first + rest)


def _days(cycles: int, date: datetime.date) -> int:
    return cycles * _CYCLE + date.toordinal() - datetime.date(1970, 1, 1).toordinal()


def _last_day(days: int) -> int:
    cycles, date = _date(days)
    last = calendar.monthrange(date.year, date.month)[1]
    return _days(cycles, date.replace(day=last))


def _trunc(days: int, unit: str) -> int:
    cycles, date = _date(days)
    return _days(cycles, date.replace(day=1) if unit == "MM" else date.replace(month=1, day=1))


def _arithmetic(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compute(x: Any, y: Any) -> Any:
        return operation(x, y)

    return compute


def _divide(x: float, y: float) -> float | None:
    if y == 0:
        return None
    return x / y


def _remainder(x: int, y: int) -> int | None:
    return None if y == 0 else int(math.copysign(1, x)) * (abs(x) % abs(y))


def _case(*arguments: Any) -> Any:
    for condition, value in zip(arguments[::2], arguments[1::2], strict=False):
        if condition is True:
            return value
    return arguments[-1] if len(arguments) % 2 else None


def _extreme(pick: Callable[..., Any]) -> Callable[..., Any]:
    def choose(*arguments: Any) -> Any:
        known = [argument for argument in arguments if argument is not None]
        return pick(known, key=order_key) if known else None

    return choose


#: Functions that are not NULL where an argument is.
_OF_NULLS: dict[str, Callable[..., Any]] = {
    "Coalesce": lambda *values: next((value for value in values if value is not None), None),
    "If": _case,
    "CaseWhen": _case,
    "Greatest": _extreme(max),
    "Least": _extreme(min),
    "IsNaN": lambda value: value is not None and math.isnan(value),
    "NaNvl": lambda x, y: y if x is not None and math.isnan(x) else x,
}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Year": lambda days: _date(days)[0] * 400 + _date(days)[1].year,
    "Quarter": lambda days: (_date(days)[1].month + 2) // 3,
    "Month": lambda days: _date(days)[1].month,
    "DayOfMonth": lambda days: _date(days)[1].day,
    "DayOfYear": lambda days: _date(days)[1].timetuple().tm_yday,
    "DayOfWeek": lambda days: _date(days)[1].isoweekday() % 7 + 1,
    "WeekDay": lambda days: _date(days)[1].weekday(),
    "WeekOfYear": lambda days: _date(days)[1].isocalendar().week,
    "LastDay": _last_day,
    "TruncDate": _trunc,
    "DateAdd": lambda days, count: days + count,
    "DateSub": lambda days, count: days - count,
    "Hour": lambda moment: moment % DAY // 3_600_000_000,
    "Minute": lambda moment: moment % 3_600_000_000 // 60_000_000,
    "Second": lambda moment: moment % 60_000_000 // 1_000_000,
    "UnixSeconds": lambda moment: moment // 1_000_000,
    "Cast": lambda moment: moment // DAY,  # of a timestamp as a date, in UTC
    "Add": _arithmetic(lambda x, y: x + y),
    "Subtract": _arithmetic(lambda x, y: x - y),
    "Multiply": _arithmetic(lambda x, y: x * y),
    "Divide": _divide,
    "Remainder": _remainder,
    "Pmod": lambda x, y: None if y == 0 else x % y,
    "UnaryMinus": lambda x: -x,
    "Abs": abs,
    "Signum": lambda x: x if x == 0 or math.isnan(x) else math.copysign(1.0, x),
    "StartsWith": lambda text, prefix: text.startswith(prefix),
    "EndsWith": lambda text, suffix: text.endswith(suffix),
    "Contains": lambda text, part: part in text,
    "Substring": lambda text, start, count: text[: max(count, 0)],
    "Concat": lambda *parts: "".join(parts),
    "Upper": str.upper,
    "StringTrim": lambda text: text.strip(" "),
    "Length": len,
}
