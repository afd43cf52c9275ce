"""The table of all functions that have a rule: Catalyst's name, the kind of rule, the rule.

`make operators` writes docs/operators.md from this table. docs/adding_an_operator.md describes how
to add a function.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Final

import numpy as np

from tamis.evaluate import (
    calendar,
    casts,
    concatenation,
    conditional,
    dates,
    elementary,
    formats,
    letter_case,
    moved_moments,
    parsing,
    patterns,
    products,
    remainders,
    rounding,
    signs,
    string_parts,
    strings,
    sums,
    time_differences,
    timestamps,
)
from tamis.evaluate.taught import Knowledge, Taught
from tamis.evaluate.zones import DAY, HOUR, SECOND

__all__ = ["FILES", "TAUGHT", "Knowledge", "Taught", "to_markdown"]

_MINUTE: Final = 60 * SECOND


M, P, I, X, S, C = Knowledge  # noqa: E741


#: Modules of this package that have a table TAUGHT of their own.
FILES: Final = (
    "factorial",
    "tagging",
)


def _of_files() -> Iterator[Taught]:
    for file in FILES:
        yield from import_module(f"tamis.evaluate.{file}").TAUGHT


TAUGHT: Final = (
    # Casts.
    Taught(
        "Cast",
        "CAST, TRY_CAST",
        M,
        casts.cast,
        note="numbers, dates, timestamps; from and to strings: a single value, dates of one year, "
        "numbers with the same number of digits",
    ),
    # Parts of dates.
    Taught("Year", "year", M, dates.date_part(calendar.year_of, None, 0, 0)),
    Taught("YearOfWeek", "extract(YEAROFWEEK)", M, dates.date_part(dates.year_of_week, None, 0, 0)),
    Taught("Quarter", "quarter", P, dates.date_part(dates.quarter, calendar.year_of, 1, 4)),
    Taught("Month", "month", P, dates.date_part(dates.month, calendar.year_of, 1, 12)),
    Taught(
        "DayOfMonth", "day", P, dates.date_part(dates.day_of_month, calendar.month_index, 1, 31)
    ),
    Taught(
        "DayOfYear", "dayofyear", P, dates.date_part(calendar.day_of_year, calendar.year_of, 1, 366)
    ),
    Taught("DayOfWeek", "dayofweek", P, dates.date_part(dates.day_of_week, dates.sunday, 1, 7)),
    Taught("WeekDay", "weekday", P, dates.date_part(dates.weekday, dates.week, 0, 6)),
    Taught(
        "WeekOfYear",
        "weekofyear",
        P,
        dates.date_part(dates.week_of_year, dates.year_of_week, 1, 53),
    ),
    # Dates.
    Taught("TruncDate", "trunc", M, dates.trunc_date),
    Taught("LastDay", "last_day", M, dates.last_day),
    Taught("NextDay", "next_day", M, dates.next_day, note="two-letter days (MO, TU, …)"),
    Taught("DateAdd", "date_add, date + n", M, dates.add_days),
    Taught("DateSub", "date_sub, date - n", M, dates.subtract_days),
    Taught("DateDiff", "datediff", I, dates.date_diff),
    Taught("AddMonths", "add_months", M, dates.add_months),
    Taught("DateAddYMInterval", "date + INTERVAL n MONTH", M, dates.add_months),
    Taught(
        "DateAddInterval",
        "date + make_interval(…)",
        M,
        moved_moments.add_calendar_interval,
        note="intervals without a time of day",
    ),
    Taught("SubtractDates", "date - date", I, time_differences.subtract_dates),
    Taught("UnixDate", "unix_date", M, dates.identity_days),
    Taught("DateFromUnixDate", "date_from_unix_date", M, dates.identity_days),
    Taught("MakeDate", "make_date", I, dates.make_date, note="days up to the 28th"),
    # Timestamps.
    Taught("Hour", "hour", P, timestamps.clock_part(HOUR, DAY)),
    Taught("Minute", "minute", P, timestamps.clock_part(_MINUTE, HOUR)),
    Taught("Second", "second", P, timestamps.clock_part(SECOND, _MINUTE)),
    Taught("SecondWithFraction", "extract(SECOND)", P, timestamps.second_with_fraction),
    Taught("TruncTimestamp", "date_trunc", M, timestamps.trunc_timestamp),
    Taught("TimestampAddInterval", "timestamp + INTERVAL", M, moved_moments.add_interval),
    Taught(
        "TimeAdd", "timestamp + INTERVAL", M, moved_moments.add_interval, note="name in Spark 4.0"
    ),
    Taught(
        "TimestampAddYMInterval",
        "timestamp + INTERVAL",
        M,
        moved_moments.add_months,
        note="years and months; bounds are whole days",
    ),
    Taught("TimestampAdd", "timestampadd", M, moved_moments.timestamp_add),
    Taught("SubtractTimestamps", "timestamp - timestamp", I, time_differences.subtract_timestamps),
    Taught("ExtractANSIIntervalDays", "extract(DAY FROM x - y)", M, time_differences.whole_days),
    Taught("TimestampDiff", "timestampdiff", I, time_differences.timestamp_diff),
    Taught("MonthsBetween", "months_between", I, time_differences.months_between),
    Taught("FromUTCTimestamp", "from_utc_timestamp", M, timestamps.from_utc),
    Taught("ToUTCTimestamp", "to_utc_timestamp", M, timestamps.to_utc),
    Taught("GetTimestamp", "to_timestamp(x, f), to_date(x, f)", S, parsing.get_timestamp),
    Taught("UnixTimestamp", "unix_timestamp", M, timestamps.unix_timestamp),
    Taught("ToUnixTimestamp", "to_unix_timestamp", M, timestamps.unix_timestamp),
    Taught("UnixSeconds", "unix_seconds", M, timestamps.to_unix(SECOND)),
    Taught("UnixMillis", "unix_millis", M, timestamps.to_unix(1_000)),
    Taught("UnixMicros", "unix_micros", M, timestamps.to_unix(1)),
    Taught("SecondsToTimestamp", "timestamp_seconds", M, timestamps.from_unix(SECOND)),
    Taught("MillisToTimestamp", "timestamp_millis", M, timestamps.from_unix(1_000)),
    Taught("MicrosToTimestamp", "timestamp_micros", M, timestamps.from_unix(1)),
    Taught("DateFormatClass", "date_format", M, formats.date_format, note="sortable patterns"),
    Taught("FromUnixTime", "from_unixtime", M, formats.from_unix_time, note="sortable patterns"),
    # Arithmetic.
    Taught("Add", "+", I, sums.add),
    Taught("Subtract", "-", I, sums.subtract),
    Taught("Multiply", "*", I, products.multiply),
    Taught("Divide", "/", I, products.divide, note="divisors of one sign"),
    Taught("IntegralDivide", "div", I, products.integral_divide, note="divisors of one sign"),
    Taught("Remainder", "%, mod", P, remainders.remainder),
    Taught("Pmod", "pmod", P, remainders.pmod),
    Taught("UnaryMinus", "-", M, signs.negate),
    Taught("Abs", "abs", I, signs.absolute),
    Taught("Floor", "floor", M, rounding.floor),
    Taught("Ceil", "ceil", M, rounding.ceil),
    Taught("RoundFloor", "floor(x, n)", M, rounding.rounded_to_scale("floor")),
    Taught("RoundCeil", "ceil(x, n)", M, rounding.rounded_to_scale("ceiling")),
    Taught("Round", "round", M, rounding.rounded_to_scale("half up")),
    Taught("BRound", "bround", M, rounding.rounded_to_scale("half even")),
    Taught("Signum", "sign", M, elementary.signum),
    Taught("Sqrt", "sqrt", M, elementary.sqrt),
    Taught("Cbrt", "cbrt", M, elementary.is_rising(np.cbrt)),
    Taught("Exp", "exp", M, elementary.is_rising(np.exp)),
    Taught("Log", "ln", M, elementary.logarithm_of(np.log, 0.0)),
    Taught("Log10", "log10", M, elementary.logarithm_of(np.log10, 0.0)),
    Taught("Log2", "log2", M, elementary.logarithm_of(np.log2, 0.0)),
    Taught("Log1p", "log1p", M, elementary.logarithm_of(np.log1p, -1.0)),
    Taught("Logarithm", "log(base, x)", M, elementary.logarithm_to_base, note="constant base"),
    Taught("Expm1", "expm1", M, elementary.is_rising(np.expm1)),
    Taught("Atan", "atan", M, elementary.is_rising(np.arctan)),
    Taught("Sinh", "sinh", M, elementary.is_rising(np.sinh)),
    Taught("Tanh", "tanh", M, elementary.is_rising(np.tanh)),
    Taught("ToDegrees", "degrees", M, elementary.is_rising(np.degrees)),
    Taught("ToRadians", "radians", M, elementary.is_rising(np.radians)),
    Taught("Rint", "rint", M, elementary.is_rising(np.rint)),
    Taught("Sin", "sin", I, elementary.wave),
    Taught("Cos", "cos", I, elementary.wave),
    Taught("Pow", "power", I, elementary.power, note="one constant argument"),
    # Strings.
    Taught("StartsWith", "startswith, LIKE 'p%'", X, predicate=patterns.starts_with),
    Taught("Like", "LIKE", X, predicate=patterns.like),
    Taught("RLike", "RLIKE", X, predicate=patterns.regular_expression, note="'^literal…'"),
    Taught("EndsWith", "endswith, LIKE '%s'", S, predicate=patterns.ends_with),
    Taught("Contains", "contains, LIKE '%s%'", X, predicate=patterns.contains),
    Taught(
        "Substring",
        "substring, left, right",
        M,
        string_parts.substring,
        note="from the first character, or after a prefix that all strings share",
    ),
    Taught("Concat", "concat, ||", I, concatenation.concat),
    Taught("Upper", "upper", X, letter_case.case_mapped(to_upper=True)),
    Taught("Lower", "lower", X, letter_case.case_mapped(to_upper=False)),
    Taught("StringTrim", "trim", M, string_parts.trimmed(str.strip, left=True, right=True)),
    Taught("StringTrimLeft", "ltrim", M, string_parts.trimmed(str.lstrip, left=True, right=False)),
    Taught("StringTrimRight", "rtrim", M, string_parts.trimmed(str.rstrip, left=False, right=True)),
    Taught("StringReplace", "replace", S, strings.of_one_string(strings.replaced)),
    Taught("StringLPad", "lpad", S, strings.of_one_string(strings.padded_left)),
    Taught("StringRPad", "rpad", S, strings.of_one_string(strings.padded_right)),
    Taught("StringRepeat", "repeat", S, strings.of_one_string(strings.repeated)),
    Taught("Reverse", "reverse", S, strings.of_one_string(lambda text: text[::-1])),
    Taught("StringInstr", "instr", S, strings.position),
    Taught("Length", "length", S, strings.length(strings.characters)),
    Taught("OctetLength", "octet_length", S, strings.length(strings.octets)),
    Taught("BitLength", "bit_length", S, strings.length(strings.octets, factor=8)),
    # Choices.
    Taught("Coalesce", "coalesce, nvl, ifnull", C, conditional.coalesce),
    Taught("If", "if, nullif, nvl2", C, conditional.choose),
    Taught("CaseWhen", "CASE", C, conditional.case_when),
    Taught("Greatest", "greatest", C, conditional.greatest),
    Taught("Least", "least", C, conditional.least),
    Taught("NaNvl", "nanvl", C, conditional.nanvl),
    Taught("IsNaN", "isnan", M, predicate=conditional.is_nan),
    *_of_files(),
)


def _line(taught: Taught) -> str:
    sql = taught.sql.replace("|", "\\|")
    note = f" {taught.note} " if taught.note else " "
    return f"| `{sql}` | {taught.name} | {taught.knowledge} |{note}|"


def to_markdown() -> str:
    """Return the text of docs/operators.md."""
    kinds = {
        M: "the edges of the argument map to the edges of the result",
        P: "monotone within a piece (a year, a day); the full range over several pieces",
        I: "interval arithmetic",
        X: "by the prefix that all strings of a file share",
        S: "computed where all values of a file are equal; otherwise not known",
        C: "the range from the least to the greatest of the arguments that may be chosen",
    }
    lines = [
        "# Operators and functions",
        "",
        "<!-- Made by `make operators` from python/tamis/evaluate/functions.py. -->",
        "",
        "Comparisons, IN, IS NULL, AND, OR and NOT prune over columns, constants and the functions",
        "below, nested in any way. Predicates over upper, lower, trim and prefixes of a string",
        "also prune by the string itself. A function that is not listed keeps every file. A listed",
        "one keeps each file within whose bounds it might raise or overflow: Spark reads it.",
        "",
        "For your own functions, tamis uses what you declare:",
        "[declared_functions.md](declared_functions.md).",
        "",
        "| known | meaning |",
        "| --- | --- |",
        *(f"| {kind} | {meaning} |" for kind, meaning in kinds.items()),
        "",
        "| function | in Catalyst | known | note |",
        "| --- | --- | --- | --- |",
        *map(_line, TAUGHT),
        "",
    ]
    return "\n".join(lines)
