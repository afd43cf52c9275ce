"""Functions on one row in the plainest form: the oracle of rows.py for calls.

Modes are LEGACY and the zone is UTC. The module is independent of tamis.evaluate. It is not
compared with Spark; tests/differential/sweep.py compares the rules with Spark.
"""

from __future__ import annotations

import calendar
import datetime
import decimal
import math
from collections.abc import Callable
from functools import cache
from typing import Any

from tamis.expr.nodes import CalendarInterval, Call, type_of
from tests.differential.keys import order_key
from tests.differential.row_casts import DAY, cast_value
from tests.differential.row_texts import TEXTS

UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": DAY,
    "WEEK": 7 * DAY,
}
_WIDE = decimal.Context(prec=400)
_CYCLE = 146_097  # days in 400 years, after which the calendar repeats itself


def call_value(call: Call, arguments: list[Any]) -> Any:
    """Return the value of a call. Arguments are values; NULL is None."""
    if call.name in _OF_NULLS:
        return _OF_NULLS[call.name](*arguments)
    if any(argument is None for argument in arguments):
        return None
    result = _computed(call, arguments)
    if not isinstance(result, int) or isinstance(result, bool) or not call.type.is_discrete:
        return result
    least, greatest = call.type.domain
    # Spark raises an error. Statistics say nothing about such a file; NULL stands for that.
    return result if least <= result <= greatest else None


def _computed(call: Call, arguments: list[Any]) -> Any:
    if call.name == "Cast":
        source = type_of(call.arguments[0])
        assert source is not None
        return cast_value(arguments[0], source, call.type, str(call.option("evalMode")))
    if call.name in _OF_UNITS:
        return _OF_UNITS[call.name](str(call.option("unit")), *arguments)
    result = _on_rows()[call.name](*arguments)
    if call.type.is_decimal and result is not None:
        digits = abs(result.scaleb(call.type.scale or 0, _WIDE))
        return None if digits >= 10 ** (call.type.precision or 0) else result
    if call.type.is_integral and isinstance(result, int):
        least, greatest = call.type.domain
        return (result - least) % (greatest - least + 1) + least
    return result


@cache
def _on_rows() -> dict[str, Callable[..., Any]]:
    from tests.cases.tables import ON_ROWS  # imported here because they import this module

    return {**_FUNCTIONS, **ON_ROWS}


def _date(days: int) -> tuple[int, datetime.date]:
    """Return the day as 400-year cycles after a date in the years 1600 to 1999, and that date."""
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
    if unit == "WEEK":
        return days - date.weekday()
    if unit == "QUARTER":
        return _days(cycles, date.replace(month=(date.month - 1) // 3 * 3 + 1, day=1))
    in_month = unit in ("MM", "MONTH")
    return _days(cycles, date.replace(day=1) if in_month else date.replace(month=1, day=1))


def _add_months(days: int, months: int) -> int:
    cycles, date = _date(days)
    year, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    # At the same place in a cycle of 400 years.
    more, year = divmod(year - 1600, 400)
    last = calendar.monthrange(year + 1600, month + 1)[1]
    moved = datetime.date(year + 1600, month + 1, min(date.day, last))
    return _days(cycles + more, moved)


def _add_interval(moment: int, by: int | CalendarInterval) -> int:
    if isinstance(by, int):
        return moment + by
    days = _add_months(moment // DAY, by.months) + by.days
    return days * DAY + moment % DAY + by.microseconds


def _next_day(days: int, name: str) -> int:
    wanted = ("MO", "TU", "WE", "TH", "FR", "SA", "SU").index(name)
    days += 1
    while _date(days)[1].weekday() != wanted:
        days += 1
    return days


def _month_and_day(moment: int) -> tuple[int, int, bool]:
    cycles, date = _date(moment // DAY)
    month = (cycles * 400 + date.year) * 12 + date.month
    return month, date.day, date.day == calendar.monthrange(date.year, date.month)[1]


def _months_between(end: int, start: int, round_off: bool) -> float:
    (month, day, is_last), (other_month, other_day, other_is_last) = map(
        _month_and_day, (end, start)
    )
    if day == other_day or (is_last and other_is_last):
        return float(month - other_month)
    seconds = (day - other_day) * 86_400 + (end % DAY - start % DAY) // 1_000_000
    between = month - other_month + seconds / (31 * 86_400)
    return round(between, 8) if round_off else between


def _timestamp_diff(unit: str, start: int, end: int) -> int:
    if unit in UNITS:
        return _quotient(end - start, UNITS[unit])
    # As in Java: use the day before, or after, if the time of day is not reached.
    if end // DAY > start // DAY and end % DAY < start % DAY:
        end -= DAY
    elif end // DAY < start // DAY and end % DAY > start % DAY:
        end += DAY
    (month, day, _), (other_month, other_day, _) = map(_month_and_day, (end, start))
    months = _quotient((month * 32 + day) - (other_month * 32 + other_day), 32)
    return _quotient(months, {"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit])


def _timestamp_add(unit: str, count: int, moment: int) -> int:
    if unit in UNITS:
        return moment + count * UNITS[unit]
    months = count * {"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit]
    return _add_months(moment // DAY, months) * DAY + moment % DAY


def written(moment: int, pattern: str) -> str:
    """Format with full-width fields, for the years that Python supports."""
    at = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=moment)
    fields = {"yyyy": f"{at.year:04d}", "MM": f"{at:%m}", "dd": f"{at:%d}"}
    for name, text in {**fields, "HH": f"{at:%H}", "mm": f"{at:%M}", "ss": f"{at:%S}"}.items():
        pattern = pattern.replace(name, text)
    return pattern


def _quotient(x: int, y: int) -> int:
    """Divide and round toward zero."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _pmod(x: Any, y: Any) -> Any:
    rest = _remainder(x, y)
    if rest is None or math.isnan(rest) or not rest < 0:
        return rest
    return _remainder(rest + y, y)


def _round(x: Any, scale: int, how: str) -> Any:
    if isinstance(x, float):
        exact = decimal.Decimal(repr(x))
        return float(_round(exact, scale, how)) if math.isfinite(x) else x
    with decimal.localcontext() as context:
        context.prec = 400
        unit = decimal.Decimal(1).scaleb(-scale)
        result = (decimal.Decimal(x) / unit).quantize(decimal.Decimal(1), how) * unit
        return int(result) if isinstance(x, int) else result


def _to_whole(x: Any, how: Callable[[Any], int]) -> Any:
    if isinstance(x, float) and not math.isfinite(x):
        return 1 << 70  # not a BIGINT
    return decimal.Decimal(how(x)) if isinstance(x, decimal.Decimal) else how(x)


def _power(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        return math.inf if x == 0 else math.nan


def _logarithm(base: float, x: float) -> float | None:
    if math.isnan(x):
        return x
    return math.log(x) / math.log(base) if x > 0 else None


def _total(function: Callable[[float], float]) -> Callable[[float], float]:
    """Compute as Java does: infinity if the result is too large, NaN if there is none."""

    def compute(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.copysign(math.inf, x)
        except ValueError:
            return math.nan

    return compute


def _logarithm_above(
    least: float, function: Callable[[float], float]
) -> Callable[[float], float | None]:
    """Return NULL at `least` and below, as Spark does."""
    return lambda x: None if x <= least else x if math.isnan(x) else function(x)


def _arithmetic(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compute(x: Any, y: Any) -> Any:
        with decimal.localcontext() as context:
            context.prec = 400
            return operation(x, y)

    return compute


def _divide(x: float, y: float) -> float | None:
    if y == 0:
        return None
    with decimal.localcontext() as context:
        context.prec = 80
        return x / y


def _remainder(x: Any, y: Any) -> Any:
    if y == 0:
        return None
    if isinstance(x, float):
        return math.nan if math.isnan(x) or math.isnan(y) or math.isinf(x) else math.fmod(x, y)
    if isinstance(x, int):
        return x - y * _quotient(x, y)
    with decimal.localcontext() as context:
        context.prec = 400
        return x % y


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


#: Functions whose unit is an option.
_OF_UNITS: dict[str, Callable[..., Any]] = {
    "TimestampAdd": _timestamp_add,
    "TimestampDiff": _timestamp_diff,
}

#: Functions that may be not NULL although an argument is.
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
    "YearOfWeek": lambda days: _date(days)[0] * 400 + _date(days)[1].isocalendar().year,
    "WeekOfYear": lambda days: _date(days)[1].isocalendar().week,
    "LastDay": _last_day,
    "NextDay": _next_day,
    "TruncDate": _trunc,
    "TruncTimestamp": lambda unit, moment: (
        moment // UNITS[unit] * UNITS[unit] if unit in UNITS else _trunc(moment // DAY, unit) * DAY
    ),
    "AddMonths": _add_months,
    "DateAddYMInterval": _add_months,
    "DateDiff": lambda end, start: end - start,
    "SubtractDates": lambda end, start: (end - start) * DAY,
    "SubtractTimestamps": lambda end, start: end - start,
    "ExtractANSIIntervalDays": lambda micros: _quotient(micros, DAY),
    "MonthsBetween": _months_between,
    "UnixDate": lambda days: days,
    "TimestampAddYMInterval": lambda moment, months: (
        _add_months(moment // DAY, months) * DAY + moment % DAY
    ),
    "TimestampAddInterval": _add_interval,
    "DateAddInterval": lambda days, by: _add_months(days, by.months) + by.days,
    "FromUTCTimestamp": lambda moment, zone: moment,  # the only zone that is drawn is UTC
    "ToUTCTimestamp": lambda moment, zone: moment,
    "DateAdd": lambda days, count: days + count,
    "DateSub": lambda days, count: days - count,
    "Hour": lambda moment: moment % DAY // 3_600_000_000,
    "Minute": lambda moment: moment % 3_600_000_000 // 60_000_000,
    "Second": lambda moment: moment % 60_000_000 // 1_000_000,
    "DateFormatClass": lambda moment, pattern: written(moment, pattern),
    "FromUnixTime": lambda seconds, pattern: written(seconds * 1_000_000, pattern),
    "UnixSeconds": lambda moment: moment // 1_000_000,
    "UnixMillis": lambda moment: moment // 1_000,
    "UnixMicros": lambda moment: moment,
    "SecondsToTimestamp": lambda seconds: seconds * 1_000_000,
    "MillisToTimestamp": lambda milliseconds: milliseconds * 1_000,
    "MicrosToTimestamp": lambda microseconds: microseconds,
    "DateFromUnixDate": lambda days: days,
    "Add": _arithmetic(lambda x, y: x + y),
    "Subtract": _arithmetic(lambda x, y: x - y),
    "Multiply": _arithmetic(lambda x, y: x * y),
    "Divide": _divide,
    "Remainder": _remainder,
    "Pmod": _pmod,
    "IntegralDivide": lambda x, y: None if y == 0 else _quotient(x, y),
    "Round": lambda x, scale: _round(x, scale, decimal.ROUND_HALF_UP),
    "BRound": lambda x, scale: _round(x, scale, decimal.ROUND_HALF_EVEN),
    "RoundFloor": lambda x, scale: _round(x, scale, decimal.ROUND_FLOOR),
    "RoundCeil": lambda x, scale: _round(x, scale, decimal.ROUND_CEILING),
    "Floor": lambda x: _to_whole(x, math.floor),
    "Ceil": lambda x: _to_whole(x, math.ceil),
    "Pow": _power,
    "Logarithm": _logarithm,
    **{
        name: _total(function)
        for name, function in {
            "Exp": math.exp,
            "Expm1": math.expm1,
            "Sinh": math.sinh,
            "Tanh": math.tanh,
            "Atan": math.atan,
            "Cbrt": math.cbrt,
            "Sin": math.sin,
            "Cos": math.cos,
            "ToDegrees": math.degrees,
            "ToRadians": math.radians,
        }.items()
    },
    "Log": _logarithm_above(0.0, math.log),
    "Log10": _logarithm_above(0.0, math.log10),
    "Log2": _logarithm_above(0.0, math.log2),
    "Log1p": _logarithm_above(-1.0, math.log1p),
    "Sqrt": lambda x: math.nan if math.isnan(x) or x < 0 else math.sqrt(x),
    "UnaryMinus": lambda x: -x,
    "Abs": abs,
    "Signum": lambda x: x if x == 0 or math.isnan(x) else math.copysign(1.0, x),
    **TEXTS,
}
